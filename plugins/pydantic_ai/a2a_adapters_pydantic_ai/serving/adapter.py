"""A Pydantic AI agent as an adapter."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic_ai import DeferredToolRequests
from pydantic_ai.agent import AbstractAgent

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
    ThreadPool,
)
from a2a_adapters_pydantic_ai.serving.card import describe_agent
from a2a_adapters_pydantic_ai.serving.events import RunEvents
from a2a_adapters_pydantic_ai.serving.failures import failure, rejection
from a2a_adapters_pydantic_ai.serving.input import as_prompt
from a2a_adapters_pydantic_ai.serving.memory import (
    Conversation,
    Paused,
    Remembered,
    recall,
)
from a2a_adapters_pydantic_ai.serving.output import asking_output_type
from a2a_adapters_pydantic_ai.serving.questions import answer, is_answered, question, results

if TYPE_CHECKING:
    from pydantic_ai import (
        AgentRunResultEvent,
        AgentStreamEvent,
        DeferredToolResults,
        ModelMessage,
        RunUsage,
        UsageLimits,
    )

    from a2a_adapters import OutboundPolicy, StateStorage
    from a2a_adapters_pydantic_ai.serving.input import Prompt

_Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]
_AnyAgent: TypeAlias = AbstractAgent[Any, Any]


@dataclass(frozen=True, slots=True)
class _Start:
    """The start of a run: a prompt, or the results of the calls that it waited for."""

    messages: list[ModelMessage]
    prompt: Prompt | None = None
    results: DeferredToolResults | None = None
    usage: RunUsage | None = None
    known: dict[str, str] = field(default_factory=dict)


class PydanticAIAdapter(Adapter):
    """Serves a Pydantic AI agent: an `Agent`, a `WrapperAgent` or any other `AbstractAgent`.

    One agent answers all callers in parallel. Conversations are kept per caller; a failed or
    cancelled run leaves its conversation unchanged.

    Args:
        agent: The agent, or a `Factory` that makes one for every run. The card describes it.
        deps: Makes the dependencies of a run from the request. An agent with
            `deps_type=AgentRequest` gets the request itself.
        agent_for: Chooses the agent that answers a request, by default `agent`; may be async.
        usage_limits: The limits of one task; by default the framework's, 50 model requests.
        limits: Bounds the threads of blocking tools, and the in-memory conversations of a server
            without durable storage.
        fetch: The policy for fetching files that callers send as URLs; by default they are refused.

    Raises:
        TargetError: The target is not an agent, or its `deps` are missing.
    """

    def __init__(
        self,
        agent: _AnyAgent | Factory,
        *,
        deps: Callable[[AgentRequest], Any] | None = None,
        agent_for: Callable[[AgentRequest], _AnyAgent | Awaitable[_AnyAgent]] | None = None,
        usage_limits: UsageLimits | None = None,
        limits: Limits | None = None,
        fetch: OutboundPolicy | None = None,
    ) -> None:
        example = agent.example if isinstance(agent, Factory) else agent
        if not isinstance(example, AbstractAgent):
            raise TargetError(f"{type(example).__name__} is not an agent of Pydantic AI")
        self.fetch = fetch
        self._example = example
        self._deps = deps or _default_deps(example)
        self._agent_for = agent_for or (lambda _: agent() if isinstance(agent, Factory) else agent)
        self._usage_limits = usage_limits
        self._threads = ThreadPool((limits or Limits()).threads)
        self._storage: StateStorage = ProcessStates(limits or Limits())

    def describe(self) -> AgentDescription:
        """Describe the agent by its name, its `description` and its function tools."""
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
        return self._answer(request, None if request.resuming else as_prompt(request))

    async def abandon(self, request: AgentRequest) -> None:
        """Restore the conversation from before the task of the question."""
        conversation = await recall(self._storage, request)
        paused = conversation.known.paused
        if paused and paused.task_id == request.task_id:
            with suppress(ResumeError):  # it was abandoned already
                await conversation.keep(conversation.known.settled())

    async def aclose(self) -> None:
        """End the threads."""
        self._threads.shutdown()

    async def _answer(self, request: AgentRequest, prompt: Prompt | None) -> _Events:
        conversation = await recall(self._storage, request)
        if prompt is None:
            start = await self._resumed(request, conversation)
        else:
            start = await self._begun(request, conversation, prompt)
        if not isinstance(start, _Start):
            yield start
            return
        made = self._agent_for(request)
        agent = await made if inspect.isawaitable(made) else made
        answer = RunEvents(agent, wants_progress=request.wants_progress, known=start.known)
        try:
            async with aclosing(self._run(agent, request, start)) as run:
                async for event in run:
                    for each in answer.take(event):
                        yield each
        except Exception as error:
            rejected = rejection(error)
            for each in [*answer.fail(), *rejected]:
                yield each
            if rejected:
                return
            if failed := failure(error, in_tool=answer.in_tool):
                raise failed from error
            raise
        async for each in self._ending(request, conversation, answer):
            yield each

    async def _begun(
        self, request: AgentRequest, conversation: Conversation, prompt: Prompt
    ) -> _Start | Rejected:
        known = conversation.known
        if known.paused is None:
            await conversation.claim()
        elif await request.others_wait():
            return ANOTHER_TASK_WAITS
        else:  # the task of the question no longer exists, so that it cannot be answered
            await conversation.keep(known.settled())
        return _Start(known.messages, prompt)

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
        if not is_answered(paused):
            await conversation.keep(known.model_copy(update={"paused": paused}))
            return question(paused)
        await conversation.keep(known.settled())  # the question is closed, even if this run fails
        calls = [*paused.requests.approvals, *paused.requests.calls]
        names = {call.tool_call_id: call.tool_name for call in calls}
        return _Start(paused.messages, None, results(paused), paused.usage, names)

    async def _run(
        self, agent: _AnyAgent, request: AgentRequest, start: _Start
    ) -> AsyncGenerator[AgentStreamEvent | AgentRunResultEvent[Any]]:
        run = agent.run_stream_events(
            start.prompt,
            output_type=asking_output_type(agent),
            message_history=start.messages,
            deferred_tool_results=start.results,
            deps=self._deps(request),
            usage=start.usage,
            usage_limits=self._usage_limits,
            conversation_id=request.conversation_key(),
            metadata={
                "owner": request.owner,
                "context_id": request.context_id,
                "task_id": request.task_id,
            },
            infer_name=False,
        )
        async with run as events:
            # The task of the run, which starts here, keeps this executor.
            with agent.using_thread_executor(self._threads):
                first = await anext(events)
            yield first
            async for event in events:
                yield event

    async def _ending(
        self, request: AgentRequest, conversation: Conversation, answer: RunEvents
    ) -> _Events:
        """Yield the rest of the answer and keep the conversation, or yield the run's question."""
        output, messages = answer.result.output, answer.result.all_messages()
        for event in answer.end():
            yield event
        if not isinstance(output, DeferredToolRequests):
            await conversation.keep(Remembered.model_construct(messages=messages))
            return
        paused = Paused.model_construct(
            task_id=request.task_id, messages=messages, requests=output, usage=answer.result.usage
        )
        known = conversation.known.settled()
        await conversation.keep(known.model_copy(update={"paused": paused}))
        yield question(paused)


def _default_deps(agent: _AnyAgent) -> Callable[[AgentRequest], Any]:
    """Return the `deps` of an agent whose user gives none.

    Raises:
        TargetError: Its tools need some.
    """
    kind = agent.deps_type
    if kind is AgentRequest:
        return lambda request: request
    if kind in {type(None), object, Any}:
        return lambda _: None
    raise TargetError(
        f"the agent's tools need {getattr(kind, '__name__', kind)}: "
        "serve(adapt(agent, deps=lambda request: ...))"
    )


adapt = PydanticAIAdapter
"""Wraps an agent, with options."""
