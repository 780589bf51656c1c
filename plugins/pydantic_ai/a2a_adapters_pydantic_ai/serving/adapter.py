"""A Pydantic AI agent as an adapter."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic_ai import (
    AgentRunResultEvent,
    AgentStreamEvent,
    DeferredToolRequests,
    FunctionToolset,
    ModelMessage,
    RunUsage,
    capture_run_messages,
)
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import ProcessEventStream
from pydantic_ai.exceptions import ContentFilterError

from a2a_adapters import AgentRequest, Limits, Skill, TargetError, TaskMetadata
from a2a_adapters.concurrency import produced
from a2a_adapters.conversing import ConversingAdapter, Events
from a2a_adapters.plugin import (
    ANY_MODES,
    AgentDescription,
    Factory,
    ThreadPool,
    check_arguments,
    example_of,
    per_request,
)
from a2a_adapters_pydantic_ai.serving.events import RunEvents
from a2a_adapters_pydantic_ai.serving.failures import blocked, failure, rejection
from a2a_adapters_pydantic_ai.serving.guards import (
    checks_output,
    checks_responses,
    event_reader,
    judges_whole_responses,
    tries_again,
)
from a2a_adapters_pydantic_ai.serving.input import Prompt, as_prompt
from a2a_adapters_pydantic_ai.serving.output import asking_output_type, unanswered
from a2a_adapters_pydantic_ai.serving.questions import KIND, AnyTurn, Paused, question, results
from a2a_adapters_pydantic_ai.serving.whole import WholeResponses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_ai import DeferredToolResults, UsageLimits

    from a2a_adapters import OutboundPolicy

_AnyAgent: TypeAlias = AbstractAgent[Any, Any]
_Event: TypeAlias = AgentStreamEvent | AgentRunResultEvent[Any]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Start:
    """The start of a run: a prompt, or the results of the calls that it waited for."""

    messages: list[ModelMessage]
    prompt: Prompt | None = None
    results: DeferredToolResults | None = None
    usage: RunUsage | None = None
    known: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, turn: AnyTurn, request: AgentRequest, prompt: Prompt | None) -> _Start:
        """Return the start of a turn. A prompt also answers the question of a remote agent."""
        if (paused := turn.before.paused) is None:
            return cls(turn.before.state or [], prompt)
        if paused.asked:
            return cls(paused.messages, as_prompt(request.parts), usage=paused.usage)
        names = {call.tool_call_id: call.tool_name for call in paused.calls}
        return cls(paused.messages, None, results(paused), paused.usage, names)


class PydanticAIAdapter(ConversingAdapter[list[ModelMessage], Paused, Prompt]):
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
        deps: Callable[[AgentRequest], object] | None = None,
        agent_for: Callable[[AgentRequest], _AnyAgent | Awaitable[_AnyAgent]] | None = None,
        usage_limits: UsageLimits | None = None,
        limits: Limits | None = None,
        fetch: OutboundPolicy | None = None,
    ) -> None:
        example = example_of(agent)
        if not isinstance(example, AbstractAgent):
            raise TargetError(f"{type(example).__name__} is not an agent of Pydantic AI")
        check_arguments(PydanticAIAdapter, locals())
        super().__init__(KIND, limits=limits, fetch=fetch)
        self._example = example
        self._deps = deps or _default_deps(example)
        self._agent_for = per_request(agent, agent_for)
        self._usage_limits = usage_limits
        self._make_threads = partial(ThreadPool, (limits or Limits()).threads)
        self._threads = self._make_threads()

    @property
    def holds_text(self) -> bool:  # type: ignore[override]  # hooks may be added later
        """Whether the agent may change or refuse text that its model has streamed."""
        return checks_output(self._example) or checks_responses(self._example)

    def describe(self) -> AgentDescription:
        """Describe the agent by its name, its `description` and its function tools."""
        name = self._example.name or "agent"
        return AgentDescription(
            name=name,
            description=self._example.description or f"The agent {name}.",
            skills=list(_skills(self._example)),
            input_modes=ANY_MODES,
            output_modes=ANY_MODES,
        )

    def prompt(self, request: AgentRequest) -> Prompt:
        """Return the message as a user prompt.

        Raises:
            InvalidInputError: It refers to a file by URL.
        """
        return as_prompt(request.parts)

    async def aclose(self) -> None:
        """End the threads; another start uses new ones."""
        self._threads.shutdown()
        self._threads = self._make_threads()

    async def run(self, request: AgentRequest, turn: AnyTurn, prompt: Prompt | None) -> Events:
        """Run the agent; keep its messages, or ask about the calls that wait."""
        start = _Start.of(turn, request, prompt)
        agent = await self._agent_for(request)
        answer = RunEvents(
            agent,
            holds=self.holds_text,
            wants_progress=request.wants_progress,
            before={message.run_id for message in start.messages},
            known=start.known,
        )
        try:
            async with aclosing(self._events(agent, request, start, answer)) as events:
                async for each in events:
                    yield each
        except Exception as error:
            rejected = rejection(error)
            for each in [*answer.fail(), *rejected]:
                yield each
            if rejected:
                return
            if found := blocked(error, in_tool=answer.in_tool):
                if isinstance(error, ContentFilterError):
                    yield TaskMetadata({"error": {"category": "model_refused"}})
                raise found from error
            if failed := failure(error, in_tool=answer.in_tool):
                raise failed from error
            raise
        async for each in self._ending(request, turn, answer):
            yield each

    async def _events(
        self, agent: _AnyAgent, request: AgentRequest, start: _Start, answer: RunEvents
    ) -> Events:
        """Run the agent, and again without streaming if only such a run can retry."""
        run = self._whole if judges_whole_responses(agent) else self._streamed
        options = self._options(agent, request, start)
        try:
            async with aclosing(run(agent, start.prompt, options, answer)) as events:
                async for event in events:
                    for each in answer.take(event):
                        yield each
        except Exception as error:
            if run == self._whole or answer.in_tool or not tries_again(error, agent):
                raise
            logger.info("the agent tries again without streaming: %s", type(error).__name__)
        else:
            return
        for each in answer.again():
            yield each
        options |= {"message_history": unanswered(answer.messages), "deferred_tool_results": None}
        async with aclosing(self._whole(agent, None, options, answer)) as events:
            async for event in events:
                for each in answer.take(event):
                    yield each

    def _options(self, agent: _AnyAgent, request: AgentRequest, start: _Start) -> dict[str, Any]:
        reader = event_reader(agent)
        readers = [ProcessEventStream(reader)] if reader else []
        return {
            "output_type": asking_output_type(agent),
            "message_history": start.messages,
            "deferred_tool_results": start.results,
            "deps": self._deps(request),
            "usage": start.usage or RunUsage(),
            "usage_limits": self._usage_limits,
            "capabilities": [WholeResponses(), *readers],
            "conversation_id": request.conversation_key(),
            "metadata": {
                "owner": request.owner,
                "context_id": request.context_id,
                "task_id": request.task_id,
            },
            "infer_name": False,
        }

    async def _streamed(
        self, agent: _AnyAgent, prompt: Prompt | None, options: dict[str, Any], answer: RunEvents
    ) -> AsyncGenerator[_Event]:
        async with agent.run_stream_events(prompt, **options) as events:
            # The task of the run, which starts here, keeps this executor and the messages.
            with agent.using_thread_executor(self._threads), capture_run_messages() as messages:
                answer.messages = messages
                first = await anext(events)
            yield first
            async for event in events:
                yield event

    def _whole(
        self, agent: _AnyAgent, prompt: Prompt | None, options: dict[str, Any], answer: RunEvents
    ) -> AsyncGenerator[_Event]:
        """Run the agent with whole responses of its model, as its own `run` does."""

        async def produce(put: Callable[[_Event], Awaitable[None]]) -> None:
            with agent.using_thread_executor(self._threads), capture_run_messages() as messages:
                answer.messages = messages
                async with agent.iter(prompt, **options) as run:
                    async for node in run:
                        if agent.is_call_tools_node(node):
                            async with node.stream(run.ctx) as events:
                                async for event in events:
                                    await put(event)
                    assert run.result is not None  # noqa: S101 - it has ended
                    await put(AgentRunResultEvent(run.result))

        return produced(produce)

    async def _ending(self, request: AgentRequest, turn: AnyTurn, answer: RunEvents) -> Events:
        """Yield the rest of the answer and keep the conversation, or yield the run's question."""
        output, messages = answer.result.output, answer.result.all_messages()
        for event in answer.end():
            yield event
        if not isinstance(output, DeferredToolRequests) and not answer.asked:
            await turn.complete(messages)
            return
        requests = output if isinstance(output, DeferredToolRequests) else DeferredToolRequests()
        place, asked = answer.asked or (None, "")
        paused = Paused.model_construct(
            task_id=request.task_id,
            messages=messages,
            requests=requests,
            usage=answer.result.usage,
            asked=asked,
            needs_auth=place is not None and place.needs_auth,
        )
        await turn.pause(paused)
        yield question(paused)


def _skills(agent: _AnyAgent) -> Iterator[Skill]:
    for toolset in agent.toolsets:
        if isinstance(toolset, FunctionToolset):
            for name, tool in toolset.tools.items():
                yield Skill.of(name, tool.description)


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
