"""An agent of Agent Framework as an adapter."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from agent_framework import Agent, AgentResponse, AgentSession, FunctionTool, Message

from a2a_adapters import AgentRequest, BlockedError, Limits, Rejected, Skill, TargetError
from a2a_adapters.concurrency import produced
from a2a_adapters.conversing import ConversingAdapter, Events
from a2a_adapters.plugin import (
    ANY_MODES,
    AgentDescription,
    Factory,
    check_arguments,
    example_of,
    per_request,
)
from a2a_adapters_agent_framework.serving.events import RunEvents, RunItem
from a2a_adapters_agent_framework.serving.failures import (
    FILTERED,
    blocked,
    failure,
    filtered,
    is_filtered,
    limited,
)
from a2a_adapters_agent_framework.serving.guards import (
    adds_middleware,
    changes_answers,
    changes_calls,
)
from a2a_adapters_agent_framework.serving.input import as_message
from a2a_adapters_agent_framework.serving.questions import (
    KIND,
    AnyTurn,
    Paused,
    question,
    rejections,
    responses,
)
from a2a_adapters_agent_framework.serving.tools import ToolWatch

if TYPE_CHECKING:
    from a2a_adapters import OutboundPolicy

REQUEST_KEY = "a2a"
"""The key of the `AgentRequest` in the `kwargs` of a tool's `FunctionInvocationContext`."""
_APPROVAL = "function_approval_request"


class AgentFrameworkAdapter(ConversingAdapter[Mapping[str, Any], Paused, Message]):
    """Serves an `Agent` of Agent Framework.

    One agent answers all callers in parallel, each with a session of its own. A failed or
    cancelled run leaves its conversation unchanged. Tools that take a `FunctionInvocationContext`
    find the `AgentRequest` in `ctx.kwargs["a2a"]`.

    Args:
        agent: The agent, or a `Factory` that makes one for every run. The card describes it.
        agent_for: Chooses the agent that answers a request, by default `agent`; may be async.
        limits: Bounds the in-memory conversations of a server without durable storage.
        fetch: The policy for fetching files that callers send as URLs; by default they are refused.

    Raises:
        TargetError: The target is not an `Agent`.
    """

    def __init__(
        self,
        agent: Agent | Factory,
        *,
        agent_for: Callable[[AgentRequest], Agent | Awaitable[Agent]] | None = None,
        limits: Limits | None = None,
        fetch: OutboundPolicy | None = None,
    ) -> None:
        example = example_of(agent)
        if not isinstance(example, Agent):
            raise TargetError(f"{type(example).__name__} is not an Agent of Agent Framework")
        check_arguments(AgentFrameworkAdapter, locals())
        super().__init__(KIND, limits=limits, fetch=fetch)
        self._example = example
        self._agent_for = per_request(agent, agent_for)

    @property
    def holds_text(self) -> bool:  # type: ignore[override]  # middleware may be added later
        """Whether middleware may change the answer, which is then not streamed."""
        return changes_answers(self._example)

    def describe(self) -> AgentDescription:
        """Describe the agent by its name, its description and its tools."""
        agent = self._example
        name = agent.name or "agent"
        tools = agent.default_options.get("tools") or ()
        return AgentDescription(
            name=name,
            description=agent.description or f"The agent {name}.",
            skills=[
                Skill.of(each.name, each.description)
                for each in tools
                if isinstance(each, FunctionTool)
            ],
            input_modes=ANY_MODES,
            output_modes=ANY_MODES,
        )

    def prompt(self, request: AgentRequest) -> Message:
        """Return the message as a user's message.

        Raises:
            InvalidInputError: It refers to a file by URL.
        """
        return as_message(request)

    async def run(self, request: AgentRequest, turn: AnyTurn, prompt: Message | None) -> Events:
        """Run the agent; keep its session, or ask for the approvals that it needs."""
        agent = await self._agent_for(request)
        session = _session(request, turn)
        events = RunEvents(
            agent.default_options.get("response_format"),
            wants_progress=request.wants_progress,
            asks=True,
        )
        is_whole = changes_answers(agent)
        try:
            async with aclosing(_run(agent, prompt, request, turn, session)) as run:
                async for item in run:
                    for each in events.take(item):
                        yield each
            for each in events.whole() if is_whole else ():
                yield each
        except Exception as error:
            if is_filtered(error):
                yield FILTERED
            if found := blocked(error) or failure(error):
                raise found from error
            raise
        async for each in self._ending(request, turn, session, events):
            yield each

    async def _ending(
        self,
        request: AgentRequest,
        turn: AnyTurn,
        session: AgentSession,
        events: RunEvents,
    ) -> Events:
        """Yield the rest of the answer and keep the conversation, or yield the run's question."""
        if events.is_filtered:
            yield FILTERED
            raise filtered()
        for event in events.end():
            yield event
        if events.is_limited:
            for event in limited():
                yield event
            return
        requests = events.response.user_input_requests
        if not requests and not events.asked:
            await turn.complete(session.to_dict())
            return
        if other := next((each.type for each in requests if each.type != _APPROVAL), None):
            yield Rejected(f"The agent needs something that it cannot ask for here: {other}.")
            return
        calls = [each.to_dict() for each in requests]
        paused = Paused(request.task_id, session.to_dict(), calls, asked=events.asked)
        await turn.pause(paused)
        yield question(paused)


def _session(request: AgentRequest, turn: AnyTurn) -> AgentSession:
    """Return a copy of the conversation's session, or a new one."""
    paused, session = turn.before.paused, turn.before.state
    known = paused.session if paused else session
    if known is None:
        return AgentSession(session_id=request.conversation_key())
    return AgentSession.from_dict(dict(known))


def _run(
    agent: Agent,
    message: Message | None,
    request: AgentRequest,
    turn: AnyTurn,
    session: AgentSession,
) -> AsyncGenerator[RunItem]:
    """Run the agent; the last item is its response.

    The run has a task of its own, which is cancelled: closing the framework's stream would store
    half a turn in the session.
    """
    paused = turn.before.paused
    if paused and paused.asked:
        paused, message = None, as_message(request)
    rejected = rejections(paused) if paused else {}

    async def produce(put: Callable[[RunItem], Awaitable[None]]) -> None:
        watch = ToolWatch(
            put,
            rejected,
            is_last=not changes_calls(agent),
            shows_arguments=not adds_middleware(agent),
        )
        run: Any = partial(  # whose result depends on `stream`
            agent.run,
            responses(paused) if paused else message,
            session=session,
            middleware=[watch],
            function_invocation_kwargs={REQUEST_KEY: request},
        )
        if changes_answers(agent):
            # Most middleware cannot replace the results of streams.
            response: AgentResponse[Any] | None = await run(stream=False)
            if response is None:  # middleware has ended the run without a result
                raise BlockedError
            await put(response)
            return
        stream = run(stream=True)
        async for update in stream:
            await put(update)
        await put(await stream.get_final_response())

    return produced(produce)


adapt = AgentFrameworkAdapter
"""Wraps an agent, with options."""
