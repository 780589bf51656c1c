"""A Strands agent as an adapter."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from strands import Agent
from strands.types.agent import Limits as RunLimits  # noqa: TC002 - checked

from a2a_adapters import AgentRequest, Limits, Skill, TargetError
from a2a_adapters.concurrency import produced
from a2a_adapters.conversing import ConversingAdapter, Events
from a2a_adapters.plugin import ANY_MODES, AgentDescription, Factory, check_arguments, example_of
from a2a_adapters_strands.serving.events import RunEvents
from a2a_adapters_strands.serving.failures import check_blocked, failure, rejection
from a2a_adapters_strands.serving.guards import checks_invocations, guards_of
from a2a_adapters_strands.serving.input import as_prompt
from a2a_adapters_strands.serving.questions import KIND, AnyTurn, Paused, question, responses
from a2a_adapters_strands.serving.source import AgentSource

if TYPE_CHECKING:
    from a2a_adapters import OutboundPolicy

REQUEST_KEY = "a2a"
"""The key of the `AgentRequest` in a run's `invocation_state`."""
_TURNS: RunLimits = {"turns": 50}


class StrandsAdapter(ConversingAdapter[Mapping[str, Any], Paused, list[Any]]):
    """Serves a Strands agent.

    A Strands agent holds one conversation and runs once at a time. A function that makes an agent
    serves callers in parallel, with an agent for each run. A single agent serves all callers, one
    run after the other; before each run it gets the caller's conversation.

    Conversations are kept per caller. A failed or cancelled run leaves its conversation unchanged.
    Tools find the `AgentRequest` in `tool_context.invocation_state["a2a"]`. If hooks or middleware
    may change a message, its text is held back until they have run. A hook that raises
    `BlockedError` rejects the task.

    Args:
        agent: The agent, or a `Factory` that makes one for every run. The card describes it.
        agent_for: Makes the agent that answers a request, by default `agent`; may be async.
        run_limits: The framework's limits of one run; by default 50 turns.
        limits: Bounds the in-memory conversations of a server without durable storage.
        fetch: The policy for fetching files that callers send as URLs; by default they are refused.

    Raises:
        TargetError: The target is not an agent, has a session manager, is of a class that overrides
            only `__call__`, or a function returns an agent that it has returned before.
    """

    def __init__(
        self,
        agent: Agent | Factory,
        *,
        agent_for: Callable[[AgentRequest], Agent | Awaitable[Agent]] | None = None,
        run_limits: RunLimits | None = None,
        limits: Limits | None = None,
        fetch: OutboundPolicy | None = None,
    ) -> None:
        example = example_of(agent)
        if not isinstance(example, Agent):
            raise TargetError(f"{type(example).__name__} is not an agent of Strands")
        check_arguments(StrandsAdapter, locals())
        super().__init__(KIND, limits=limits, fetch=fetch)
        self._example = example
        self._source = AgentSource(agent, agent_for)
        self._run_limits = _TURNS if run_limits is None else run_limits
        self.holds_text = bool(guards_of(example))

    def describe(self) -> AgentDescription:
        """Describe the agent by its name, its description and its tools."""
        agent = self._example
        tools = agent.tool_registry.get_all_tools_config().items()
        return AgentDescription(
            name=agent.name,
            description=agent.description or f"The agent {agent.name}.",
            skills=[Skill.of(name, tool["description"]) for name, tool in tools],
            input_modes=ANY_MODES,
            output_modes=ANY_MODES,
        )

    def prompt(self, request: AgentRequest) -> list[Any]:
        """Return the message as content blocks.

        Raises:
            InvalidInputError: It has a file that models do not support.
        """
        return as_prompt(request)

    async def run(self, request: AgentRequest, turn: AnyTurn, prompt: list[Any] | None) -> Events:
        """Run the agent; keep its snapshot, or ask about its interrupts."""
        paused, snapshot, known = turn.before.paused, turn.before.state, {}
        if paused:
            prompt, snapshot, known = responses(paused), paused.snapshot, paused.tools
        async with self._source.agent(request, snapshot) as agent:
            events = RunEvents(
                agent,
                wants_progress=request.wants_progress,
                known=known,
                is_held=self.holds_text,
            )
            try:
                async with aclosing(self._items(agent, request, prompt)) as run:
                    async for event in run:
                        for each in events.take(event):
                            yield each
            except Exception as error:
                for each in events.fail():
                    yield each
                if failed := failure(error):
                    raise failed from error
                raise
            async for each in self._ending(request, turn, agent, events):
                yield each

    def _items(
        self, agent: Agent, request: AgentRequest, prompt: list[Any] | None
    ) -> AsyncGenerator[Mapping[str, Any]]:
        """Run the agent.

        The framework's generator must not be closed: it would end an OpenTelemetry span in the
        wrong context, and log a traceback.
        """

        async def produce(put: Callable[[Mapping[str, Any]], Awaitable[None]]) -> None:
            given: Any = {"invocation_state": {REQUEST_KEY: request}, "limits": self._run_limits}
            if checks_invocations(agent):
                result = await agent.invoke_async(prompt, **given)
                if not result.interrupts:
                    await put({"message": result.message})
                await put({"result": result})
                return
            async for event in agent.stream_async(prompt, **given):
                await put(event)

        return produced(produce)

    async def _ending(
        self,
        request: AgentRequest,
        turn: AnyTurn,
        agent: Agent,
        events: RunEvents,
    ) -> Events:
        """Yield the rest of the answer and keep the conversation, or yield the run's question."""
        for event in events.usage():
            yield event
        check_blocked(events.result.stop_reason)
        for event in events.end():
            yield event
        if rejected := rejection(events.result.stop_reason):
            for event in rejected:
                yield event
            return
        snapshot = agent.take_snapshot(preset="session").to_dict()
        if not events.result.interrupts:
            await turn.complete(snapshot)
            return
        interrupts = [each.to_dict() for each in events.result.interrupts]
        paused = Paused(request.task_id, snapshot, interrupts)
        await turn.pause(paused)
        yield question(paused)


adapt = StrandsAdapter
"""Wraps an agent, with options."""
