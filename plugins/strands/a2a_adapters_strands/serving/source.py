"""Provides the agent of each run: the only one, or a new one."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from strands import Agent
from strands.agent.conversation_manager import ConversationManager
from strands.handlers import null_callback_handler
from strands.hooks import HookRegistry
from strands.middleware._registry import MiddlewareRegistry
from strands.tools.registry import ToolRegistry
from strands.types._snapshot import Snapshot

from a2a_adapters import TargetError
from a2a_adapters.concurrency import Background, Turns, calls_of_task
from a2a_adapters.plugin import Copies, Factory, MadeAnew, SavedAttributes, example_of, per_request
from a2a_adapters_strands.serving.guards import checks_calls_only
from a2a_adapters_strands.serving.parts import agents_in, stateful_parts

if TYPE_CHECKING:
    from a2a_adapters import AgentRequest

_CHANGED = (ConversationManager, HookRegistry, MiddlewareRegistry, ToolRegistry)
"""What an agent has that a run may change."""
_OF_RESULTS = ("messages", "event_loop_metrics")
"""Attributes that hooks may keep, or read later in a result: the next run has others."""
_turns: dict[int, Turns] = {}
"""Those of agents, each of which may be served several times, and be a tool of others.

The keys are ids, as an agent of a custom class may have no hash.
"""


class AgentSource:
    """Provides the agent of each run.

    Args:
        agent: The agent, or a `Factory` that makes one for every run.
        agent_for: Makes the agent that answers a request; may be async.

    Raises:
        TargetError: The agent has a session manager, or a memory for all callers, which would mix
            them, or is of a class that checks only calls, or a function does not make it anew.
    """

    def __init__(
        self,
        agent: Agent | Factory,
        agent_for: Callable[[AgentRequest], Agent | Awaitable[Agent]] | None,
    ) -> None:
        self._shared = agent if agent_for is None and not isinstance(agent, Factory) else None
        self._make = per_request(agent, agent_for)
        self._leaving = Background()
        self._anew = MadeAnew(stateful_parts, "agents and their conversation managers")
        _check(example_of(agent))
        if self._shared is not None and any(map(_writes_memory, agents_in(self._shared))):
            raise TargetError(
                "the agent writes to a memory that all callers would share: use agent_for, and "
                "give the agent a store of the request's owner"
            )
        if isinstance(agent, Factory):
            self._anew.check_factory(agent)
        else:
            self._anew.check(agent)

    @asynccontextmanager
    async def agent(
        self, request: AgentRequest, snapshot: Mapping[str, Any] | None
    ) -> AsyncGenerator[Agent]:
        """Yield an agent that is in a conversation and prints nothing.

        Raises:
            TargetError: The agent cannot be served.
        """
        if self._shared is not None:
            async with self._borrowed(self._shared):
                yield _loaded(self._shared, snapshot)
            return
        agent = await self._make(request)
        _check(agent)
        self._anew.check(agent)
        agent.callback_handler = null_callback_handler
        yield _loaded(agent, snapshot)

    @asynccontextmanager
    async def _borrowed(self, agent: Agent) -> AsyncGenerator[None]:
        """Wait for an agent, and restore it after a run and all tools that the run has called.

        Threads of a cancelled run go on, with the agent in the context of their tools.
        """
        calls_left = calls_of_task()
        agents = [each for each in agents_in(agent) if isinstance(each, Agent)]
        async with AsyncExitStack() as turns:
            for each in sorted(agents, key=id):  # other runs may need some of them
                await turns.enter_async_context(_turns_of(each))
            before = [_AgentBefore(each) for each in agents]
            try:
                agent.callback_handler = null_callback_handler
                yield
            finally:
                if ended := calls_left():
                    self._leaving.begin(_restore_later(before, ended, turns.pop_all()))
                else:
                    _restore(before)


class _AgentBefore:
    """An agent before a run."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._snapshot = agent.take_snapshot(preset="session")
        owners = [agent, *(each for each in vars(agent).values() if isinstance(each, _CHANGED))]
        self._attributes = SavedAttributes(owners, unless=_OF_RESULTS)
        self._of_results = Copies().of({name: vars(agent)[name] for name in _OF_RESULTS})

    def restore(self) -> None:
        """Undo what the run has changed."""
        self._attributes.restore()
        vars(self._agent).update(self._of_results)
        self._agent.load_snapshot(self._snapshot)


def _restore(agents: Iterable[_AgentBefore]) -> None:
    for each in agents:
        each.restore()


def _turns_of(agent: Agent) -> Turns:
    if id(agent) not in _turns:
        weakref.finalize(agent, _turns.pop, id(agent), None).atexit = False
    return _turns.setdefault(id(agent), Turns())


async def _restore_later(
    agents: Iterable[_AgentBefore], ended: asyncio.Future[None], turns: AsyncExitStack
) -> None:
    async with turns:
        try:
            await ended
        finally:  # the event loop may end before
            _restore(agents)


def _writes_memory(agent: object) -> bool:
    manager = getattr(agent, "memory_manager", None)
    return manager is not None and any(store.writable for store in manager._stores)  # noqa: SLF001 - there is no public name


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
