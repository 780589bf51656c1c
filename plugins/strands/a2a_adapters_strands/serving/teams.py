"""A graph or a swarm of Strands agents as an adapter."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from strands import Agent
from strands.handlers import null_callback_handler
from strands.multiagent.base import MultiAgentBase
from strands.multiagent.graph import Graph
from strands.multiagent.swarm import Swarm

from a2a_adapters import AgentRequest, Limits, Skill, TargetError
from a2a_adapters.concurrency import produced
from a2a_adapters.conversing import ConversingAdapter, Events
from a2a_adapters.plugin import (
    AgentDescription,
    Factory,
    MadeAnew,
    check_arguments,
    dialogue,
    per_request,
)
from a2a_adapters_strands.serving.adapter import REQUEST_KEY
from a2a_adapters_strands.serving.failures import failure, team_failure
from a2a_adapters_strands.serving.guards import checks_calls_only, checks_invocations, guards_of
from a2a_adapters_strands.serving.input import as_prompt
from a2a_adapters_strands.serving.parts import members, stateful_parts
from a2a_adapters_strands.serving.questions import (
    TEAM_KIND,
    AnyTurn,
    Paused,
    question,
    responses,
)
from a2a_adapters_strands.serving.team_events import TeamEvents

if TYPE_CHECKING:
    from a2a_adapters import OutboundPolicy

_SPEAKERS = {"user": "User", "agent": "Agent"}
_INNER = "a2a_inner"
"""Key in a team's state: the states of the teams inside it."""


class TeamAdapter(ConversingAdapter[Mapping[str, Any], Paused, list[Any]]):
    """Serves a `Graph` or a `Swarm`.

    Their agents keep the messages of the last run, so a function makes them for every run. They get
    the earlier messages of the conversation as a dialogue. A run that waits for its caller is
    stored. Tools find the `AgentRequest` in `tool_context.invocation_state["a2a"]`.

    Args:
        team: A `Factory` that makes the graph or the swarm for every run. The card describes it.
        limits: Bounds the in-memory questions of a server without durable storage.
        fetch: The policy for fetching files that callers send as URLs; by default they are refused.

    Raises:
        TargetError: The target is not a function that makes one with new agents, has a session
            manager, or is of a class that overrides `__call__` or `invoke_async`, but not
            `stream_async`.
    """

    uses_history = True

    def __init__(
        self,
        team: Factory,
        *,
        limits: Limits | None = None,
        fetch: OutboundPolicy | None = None,
    ) -> None:
        if not isinstance(team.example, MultiAgentBase):
            raise TargetError(f"{type(team.example).__name__} is not a graph or a swarm")
        check_arguments(TeamAdapter, locals())
        if isinstance(team.example, Graph | Swarm) and (
            checks_invocations(team.example) or checks_calls_only(team.example)
        ):
            raise TargetError(
                f"{type(team.example).__name__} overrides __call__ or invoke_async, which the "
                "server does not use: override stream_async"
            )
        if getattr(team.example, "session_manager", None) is not None:
            raise TargetError(
                "the team has a session manager, which would mix the callers' runs: remove it; "
                "runs that wait are kept in the server's storage"
            )
        super().__init__(TEAM_KIND, limits=limits, fetch=fetch)
        self._example: Any = team.example
        self._make: Callable[[AgentRequest], Awaitable[Any]] = per_request(team)
        self._anew = MadeAnew(stateful_parts, "team, its agents and their conversation managers")
        self._anew.check_factory(team)
        self.holds_text = bool(guards_of(team.example))

    def describe(self) -> AgentDescription:
        """Describe the team by its id, with a skill for each of its agents."""
        team = self._example
        skills = [
            Skill.of(name, agent.description, "agent")
            for name, agent in members(team).items()
            if isinstance(agent, Agent)
        ]
        kind = type(team).__name__.lower()
        return AgentDescription(
            name=team.id, description=f"A {kind} of {len(team.nodes)} agents.", skills=skills
        )

    def prompt(self, request: AgentRequest) -> list[Any]:
        """Return the message, after the earlier ones if there are any, as content blocks.

        Raises:
            InvalidInputError: It has a file that models do not support.
        """
        earlier = [(_SPEAKERS[turn.role], list(turn.parts)) for turn in request.history]
        if not earlier:
            return as_prompt(request)
        parts = dialogue([*earlier, ("User", list(request.parts))])
        return as_prompt(replace(request, parts=parts))

    async def run(self, request: AgentRequest, turn: AnyTurn, prompt: list[Any] | None) -> Events:
        """Run the team, and ask about its interrupts."""
        team = _silenced(await self._make(request))
        self._anew.check(team)
        if paused := turn.before.paused:
            _restore(team, paused.snapshot)
            prompt = responses(paused)
        events = TeamEvents(team, wants_progress=request.wants_progress, is_held=self.holds_text)
        try:
            async with aclosing(_items(team, request, prompt)) as run:
                async for event in run:
                    for each in events.take(event):
                        yield each
            ended = [*events.usage(), *team_failure(events.result, events.answers())]
        except Exception as error:
            if failed := failure(error):
                raise failed from error
            raise
        for each in (*events.end(), *ended):
            yield each
        if interrupts := [each.to_dict() for each in events.result.interrupts]:
            waiting = Paused(request.task_id, _state_of(team), interrupts)
            await turn.pause(waiting)
            yield question(waiting)


def _state_of(team: Any) -> Mapping[str, Any]:
    """Return the state of a team and, as the framework leaves them out, of the teams within it."""
    inner = {name: each for name, each in members(team).items() if isinstance(each, Graph | Swarm)}
    states = {name: _state_of(each) for name, each in inner.items()}
    return {**team.serialize_state(), _INNER: states}


def _restore(team: Any, state: Mapping[str, Any]) -> None:
    team.deserialize_state(dict(state))
    inner = state.get(_INNER, {})
    for name, member in members(team).items():
        if name in inner:
            _restore(member, inner[name])


def _silenced(team: Any) -> Any:
    """Return a team whose agents do not print."""
    for member in members(team).values():
        if isinstance(member, Agent):
            member.callback_handler = null_callback_handler
        elif isinstance(member, MultiAgentBase):
            _silenced(member)
    return team


def _items(
    team: MultiAgentBase, request: AgentRequest, task: Any
) -> AsyncGenerator[Mapping[str, Any]]:
    """Run the team in a task of its own, as the framework's generator must not be closed."""

    async def produce(put: Callable[[Mapping[str, Any]], Awaitable[None]]) -> None:
        async for event in team.stream_async(task, invocation_state={REQUEST_KEY: request}):
            await put(cast("Mapping[str, Any]", event))

    return produced(produce)
