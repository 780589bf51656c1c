"""An agent of Agent Framework as an adapter."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from agent_framework import Agent, AgentSession, Message

from a2a_adapters import (
    ANOTHER_TASK_WAITS,
    QUESTION_CLOSED,
    Adapter,
    AgentDescription,
    AgentEvent,
    AgentRequest,
    Factory,
    InputRequired,
    InvalidInputError,
    Limits,
    ProcessStates,
    Rejected,
    ResumeError,
    TargetError,
)
from a2a_adapters.concurrency import produced
from a2a_adapters_agent_framework.serving.card import describe_agent
from a2a_adapters_agent_framework.serving.events import RunEvents, RunItem
from a2a_adapters_agent_framework.serving.failures import failure, filtered, limited, rejection
from a2a_adapters_agent_framework.serving.input import as_message
from a2a_adapters_agent_framework.serving.memory import Conversation, Paused, Remembered, recall
from a2a_adapters_agent_framework.serving.questions import answer, question, rejections, responses
from a2a_adapters_agent_framework.serving.tools import ToolWatch

if TYPE_CHECKING:
    from a2a_adapters import OutboundPolicy, StateStorage

_Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]

REQUEST_KEY = "a2a"
"""The key of the `AgentRequest` in the `kwargs` of a tool's `FunctionInvocationContext`."""
_APPROVAL = "function_approval_request"


@dataclass(frozen=True, slots=True)
class _Start:
    """The start of a run.

    Attributes:
        message: The caller's message, or the decisions about calls.
        session: The conversation so far; None at its beginning.
        rejections: The results of the calls that are not made, by the id of the call.
    """

    message: Message
    session: Mapping[str, Any] | None
    rejections: Mapping[str, str] = field(default_factory=dict)


class AgentFrameworkAdapter(Adapter):
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
        example = agent.example if isinstance(agent, Factory) else agent
        if not isinstance(example, Agent):
            raise TargetError(f"{type(example).__name__} is not an Agent of Agent Framework")
        self.fetch = fetch
        self._example = example
        self._agent_for = agent_for or (lambda _: agent() if isinstance(agent, Factory) else agent)
        self._storage: StateStorage = ProcessStates(limits or Limits())

    def describe(self) -> AgentDescription:
        """Describe the agent by its name, its description and its tools."""
        return describe_agent(self._example)

    async def open(self, storage: StateStorage) -> None:
        """Keep conversations, and questions, in the server's storage."""
        if storage.is_durable:
            self._storage = storage

    def stream(self, request: AgentRequest) -> _Events:
        """Run the agent, or continue after its question.

        Raises:
            InvalidInputError: The message is empty, or names a file by its address.
        """
        return self._answer(request, None if request.resuming else as_message(request))

    async def abandon(self, request: AgentRequest) -> None:
        """Restore the conversation from before the task of the question."""
        conversation = await recall(self._storage, request)
        paused = conversation.known.paused
        if paused and paused.task_id == request.task_id:
            with suppress(ResumeError):  # it was abandoned already
                await conversation.keep(conversation.known.settled())

    async def _answer(self, request: AgentRequest, message: Message | None) -> _Events:
        conversation = await recall(self._storage, request)
        if message is None:
            start = await self._resumed(request, conversation)
        else:
            start = await self._begun(request, conversation, message)
        if not isinstance(start, _Start):
            yield start
            return
        made = self._agent_for(request)
        agent = await made if inspect.isawaitable(made) else made
        session = _session(request, start.session)
        events = RunEvents(agent, wants_progress=request.wants_progress)
        try:
            async with aclosing(_run(agent, request, start, session)) as run:
                async for item in run:
                    for each in events.take(item):
                        yield each
        except Exception as error:
            rejected = rejection(error)
            for each in rejected:
                yield each
            if rejected:
                return
            if failed := failure(error):
                raise failed from error
            raise
        async for each in self._ending(request, conversation, session, events):
            yield each

    async def _begun(
        self, request: AgentRequest, conversation: Conversation, message: Message
    ) -> _Start | Rejected:
        known = conversation.known
        if known.paused is None:
            await conversation.claim()
        elif await request.others_wait():
            return ANOTHER_TASK_WAITS
        else:  # the task of the question no longer exists, so that it cannot be answered
            await conversation.keep(known.settled())
        return _Start(message, known.session)

    async def _resumed(
        self, request: AgentRequest, conversation: Conversation
    ) -> _Start | Rejected | InputRequired:
        known = conversation.known
        if known.paused is None or known.paused.task_id != request.task_id:
            return QUESTION_CLOSED
        try:
            paused = answer(known.paused, request.parts)
        except InvalidInputError as complaint:
            return question(known.paused, str(complaint))
        if paused.waiting:
            await conversation.keep(Remembered(known.session, paused))
            return question(paused)
        await conversation.keep(known.settled())  # the question is closed, even if this run fails
        return _Start(responses(paused), paused.session, rejections(paused))

    async def _ending(
        self,
        request: AgentRequest,
        conversation: Conversation,
        session: AgentSession,
        events: RunEvents,
    ) -> _Events:
        """Yield the rest of the answer and keep the conversation, or yield the run's question."""
        for event in events.end():
            yield event
        if events.is_limited or events.is_filtered:
            for event in limited() if events.is_limited else filtered():
                yield event
            return
        requests = events.response.user_input_requests
        if not requests:
            await conversation.keep(Remembered(session.to_dict()))
            return
        if other := next((each.type for each in requests if each.type != _APPROVAL), None):
            yield Rejected(f"The agent needs something that it cannot ask for here: {other}.")
            return
        paused = Paused(request.task_id, session.to_dict(), [each.to_dict() for each in requests])
        await conversation.keep(Remembered(conversation.known.session, paused))
        yield question(paused)


def _session(request: AgentRequest, known: Mapping[str, Any] | None) -> AgentSession:
    """Return a copy of the conversation's session, or a new one."""
    if known is None:
        return AgentSession(session_id=request.conversation_key())
    return AgentSession.from_dict(dict(known))


def _run(
    agent: Agent, request: AgentRequest, start: _Start, session: AgentSession
) -> AsyncGenerator[RunItem]:
    """Run the agent; the last item is its response.

    The framework stores half a turn in the session of a stream that is closed, so that the run has
    a task of its own, which is cancelled.
    """

    async def produce(put: Callable[[RunItem], Awaitable[None]]) -> None:
        stream = agent.run(
            start.message,
            stream=True,
            session=session,
            middleware=[ToolWatch(put, start.rejections)],
            function_invocation_kwargs={REQUEST_KEY: request},
        )
        async for update in stream:
            await put(update)
        await put(await stream.get_final_response())

    return produced(produce)


adapt = AgentFrameworkAdapter
"""Wraps an agent, with options."""
