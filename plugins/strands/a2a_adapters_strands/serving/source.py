"""Provides the agent of each run: the only one, or a new one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from strands.handlers import null_callback_handler
from strands.types._snapshot import Snapshot

from a2a_adapters import TargetError
from a2a_adapters.concurrency import PerLoop
from a2a_adapters.plugin import Factory, example_of, per_request
from a2a_adapters_strands.serving.guards import checks_calls_only

if TYPE_CHECKING:
    from strands import Agent

    from a2a_adapters import AgentRequest


class AgentSource:
    """Provides the agent of each run.

    Args:
        agent: The agent, or a `Factory` that makes one for every run.
        agent_for: Makes the agent that answers a request; may be async.

    Raises:
        TargetError: The agent has a session manager, which would mix the callers' conversations, or
            is of a class that checks only calls.
    """

    def __init__(
        self,
        agent: Agent | Factory,
        agent_for: Callable[[AgentRequest], Agent | Awaitable[Agent]] | None,
    ) -> None:
        self._shared = agent if agent_for is None and not isinstance(agent, Factory) else None
        self._make = per_request(agent, agent_for)
        self._turn = PerLoop(asyncio.Lock)
        _check(example_of(agent))

    @asynccontextmanager
    async def agent(
        self, request: AgentRequest, snapshot: Mapping[str, Any] | None
    ) -> AsyncGenerator[Agent]:
        """Yield an agent that is in a conversation and prints nothing.

        Raises:
            TargetError: The agent cannot be served.
        """
        if self._shared is not None:
            async with self._turn(), _borrowed(self._shared):
                yield _loaded(self._shared, snapshot)
            return
        agent = await self._make(request)
        _check(agent)
        agent.callback_handler = null_callback_handler
        yield _loaded(agent, snapshot)


@asynccontextmanager
async def _borrowed(agent: Agent) -> AsyncGenerator[None]:
    """Restore an agent after a run."""
    own, printer = agent.take_snapshot(preset="session"), agent.callback_handler
    agent.callback_handler = null_callback_handler
    try:
        yield
    finally:
        agent.load_snapshot(own)
        agent.callback_handler = printer


def _loaded(agent: Agent, snapshot: Mapping[str, Any] | None) -> Agent:
    if snapshot is not None:
        agent.load_snapshot(Snapshot.from_dict(dict(snapshot)))
    return agent


def _check(agent: Agent) -> None:
    if agent._session_manager is not None:  # noqa: SLF001 - there is no public name
        raise TargetError(
            "the agent has a session manager, which would mix the callers' conversations: "
            "remove it; conversations are kept in the server's storage"
        )
    if checks_calls_only(agent):
        raise TargetError(
            f"{type(agent).__name__} overrides __call__, which the server does not use: override "
            "invoke_async or stream_async"
        )
