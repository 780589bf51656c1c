"""A Pydantic AI agent as an adapter."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic_ai import DeferredToolRequests
from pydantic_ai.agent import AbstractAgent

from a2a_adapters import (
    Adapter,
    AgentDescription,
    AgentEvent,
    AgentRequest,
    Factory,
    InputRequired,
    Limits,
    Rejected,
    TargetError,
    ThreadPool,
)
from a2a_adapters.conversing import StoredTurns
from a2a_adapters_pydantic_ai.serving.card import describe_agent
from a2a_adapters_pydantic_ai.serving.events import RunEvents
from a2a_adapters_pydantic_ai.serving.failures import failure, rejection
from a2a_adapters_pydantic_ai.serving.input import as_prompt
from a2a_adapters_pydantic_ai.serving.memory import KIND, AnyTurn
from a2a_adapters_pydantic_ai.serving.output import asking_output_type
from a2a_adapters_pydantic_ai.serving.questions import Paused, question, results

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

    @classmethod
    def of(cls, turn: AnyTurn, prompt: Prompt | None) -> _Start:
        """Return the start of a turn."""
        if (paused := turn.before.paused) is None:
            return cls(turn.before.state or [], prompt)
        names = {call.tool_call_id: call.tool_name for call in paused.calls}
        return cls(paused.messages, None, results(paused), paused.usage, names)


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
        self._turns = StoredTurns(KIND, limits)

    def describe(self) -> AgentDescription:
        """Describe the agent by its name, its `description` and its function tools."""
        return describe_agent(self._example)

    async def open(self, storage: StateStorage) -> None:
        """Keep conversations, and questions, in the server's storage."""
        self._turns.open(storage)

    def stream(self, request: AgentRequest) -> _Events:
        """Run the agent, or continue after its question.

        Raises:
            InvalidInputError: The message is empty, or names a file by its address.
        """
        return self._answer(request, None if request.resuming else as_prompt(request))

    async def abandon(self, request: AgentRequest) -> None:
        """Restore the conversation from before the task of the question."""
        await self._turns.abandon(request)

    async def aclose(self) -> None:
        """End the threads."""
        self._threads.shutdown()

    async def _answer(self, request: AgentRequest, prompt: Prompt | None) -> _Events:
        turn = await self._turns.begin(request)
        if isinstance(turn, Rejected | InputRequired):
            yield turn
            return
        start = _Start.of(turn, prompt)
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
        async for each in self._ending(request, turn, answer):
            yield each

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

    async def _ending(self, request: AgentRequest, turn: AnyTurn, answer: RunEvents) -> _Events:
        """Yield the rest of the answer and keep the conversation, or yield the run's question."""
        output, messages = answer.result.output, answer.result.all_messages()
        for event in answer.end():
            yield event
        if not isinstance(output, DeferredToolRequests):
            await turn.complete(messages)
            return
        paused = Paused.model_construct(
            task_id=request.task_id, messages=messages, requests=output, usage=answer.result.usage
        )
        await turn.pause(paused)
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
