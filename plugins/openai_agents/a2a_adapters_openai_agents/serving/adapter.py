"""An agent of the OpenAI Agents SDK as an adapter."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from agents import (
    Agent,
    AgentUpdatedStreamEvent,
    FunctionTool,
    Handoff,
    MaxTurnsExceeded,
    ModelRefusalError,
    RunConfig,
    RunContextWrapper,
    Runner,
    RunState,
    StreamEvent,
    TResponseInputItem,
    UserError,
)

from a2a_adapters import (
    AgentEvent,
    AgentRequest,
    InvalidInputError,
    Limits,
    Output,
    Rejected,
    Skill,
    TargetError,
    TaskMetadata,
)
from a2a_adapters.plugin import (
    ANOTHER_TASK_WAITS,
    ANY_MODES,
    QUESTION_CLOSED,
    Adapter,
    AgentDescription,
    AgentFailedError,
    ProcessStates,
    ResumeError,
    check_arguments,
)
from a2a_adapters_openai_agents.serving.approvals import asking, decide, question
from a2a_adapters_openai_agents.serving.events import RunEvents
from a2a_adapters_openai_agents.serving.failures import blocked, failed, mark_failures
from a2a_adapters_openai_agents.serving.guards import sees_responses
from a2a_adapters_openai_agents.serving.input import as_message
from a2a_adapters_openai_agents.serving.memory import (
    Conversation,
    Ended,
    Question,
    Remembered,
    recall,
    restored,
    stored,
)
from a2a_adapters_openai_agents.serving.session import (
    RunSession,
    StoredSession,
    agent_named,
    finished,
    reachable,
    said,
)

if TYPE_CHECKING:
    from agents import RunResultStreaming, Tool

    from a2a_adapters import OutboundPolicy
    from a2a_adapters.conversing import Events
    from a2a_adapters.plugin import StateStorage

_MAX_TURNS = 10
_CHANGED = Rejected("The agent has changed since it asked; please start a new task.")


@dataclass(frozen=True, slots=True)
class _Begin:
    """The start of a run, its conversation, and the texts and images it has sent before.

    `begins` is the number of items before the message.
    """

    start: list[TResponseInputItem] | RunState[Any]
    conversation: Conversation
    session: RunSession
    agent: Agent[Any]
    begins: int
    said: Iterable[str | Output] = ()


class OpenAIAgentsAdapter(Adapter):
    """Serves an agent of the OpenAI Agents SDK.

    One agent answers all callers in parallel. Conversations are kept per caller; a failed or
    cancelled run leaves its conversation unchanged.

    Args:
        agent: The agent.
        context: Makes the context object that a run passes to tools and guardrails.
        max_turns: The number of model calls for one message after which the task fails; None for
            no limit.
        run_config: The configuration of runs. `tracing` overrides its `tracing_disabled`.
        tracing: Whether the SDK traces runs. Unless you have set its trace processors, it sends
            them to OpenAI.
        durable: Whether runs of a dead process are resumed after their last finished turn. Needs
            a server with durable storage. Tools of the interrupted turn may run twice.
        follow_handoffs: Whether the next message of a conversation goes to the agent that answered
            the last one. The input guardrails of the served agent then do not see the message.
        limits: Bounds the in-memory conversations of a server without durable storage.
        fetch: The policy for fetching files that callers send as URLs; by default they are refused.

    Raises:
        TargetError: The target is not an agent.
    """

    def __init__(  # noqa: PLR0913 - a choice each
        self,
        agent: Agent[Any],
        *,
        context: Callable[[AgentRequest], object] | None = None,
        max_turns: int | None = _MAX_TURNS,
        run_config: RunConfig | None = None,
        tracing: bool = False,
        durable: bool = False,
        follow_handoffs: bool = False,
        limits: Limits | None = None,
        fetch: OutboundPolicy | None = None,
    ) -> None:
        if not isinstance(agent, Agent):
            raise TargetError(f"{type(agent).__name__} is not an Agent")
        check_arguments(OpenAIAgentsAdapter, locals(), {"max_turns"})
        self.fetch = fetch
        self.resumes = durable
        self._follows = follow_handoffs
        self._agent = agent
        self._context = context
        self._max_turns = max_turns
        self._run_config = replace(run_config or RunConfig(), tracing_disabled=not tracing)
        self._storage: StateStorage = ProcessStates(limits or Limits())

    @property
    def holds_text(self) -> bool:  # type: ignore[override]  # guardrails may be added later
        """Whether an agent of the run has output guardrails, or hooks that see its responses."""
        return self._is_guarded or any(map(sees_responses, reachable(self._agent)))

    @property
    def _is_guarded(self) -> bool:
        return bool(self._run_config.output_guardrails) or any(
            agent.output_guardrails for agent in reachable(self._agent)
        )

    def describe(self) -> AgentDescription:
        """Describe the agent by its name, its `handoff_description`, its tools and handoffs."""
        agent = self._agent
        return AgentDescription(
            name=agent.name,
            description=agent.handoff_description or f"The agent {agent.name}.",
            skills=[*map(_tool_skill, agent.tools), *map(_handoff_skill, agent.handoffs)],
            input_modes=ANY_MODES,
            output_modes=ANY_MODES,
        )

    async def open(self, storage: StateStorage) -> None:
        """Keep conversations, and questions, in the server's storage."""
        if storage.is_durable:
            self._storage = storage

    def stream(self, request: AgentRequest) -> Events:
        """Run the agent, or continue after its question.

        Raises:
            InvalidInputError: The message is empty, or refers to a file by URL.
        """
        message = as_message(request)
        return self._answering(request, lambda: self._begin(request, message))

    def resume(self, request: AgentRequest) -> Events:
        """Resume after the last finished turn.

        Raises:
            ResumeError: The outcome of approved tools is unknown.
        """
        return self._answering(request, lambda: self._begin_again(request))

    async def abandon(self, request: AgentRequest) -> None:
        """Restore the conversation from before the task of the question."""
        conversation = await recall(self._storage, request)
        asked = conversation.known.question
        if asked and asked.task_id == request.task_id:
            with suppress(ResumeError):  # it was abandoned already
                await conversation.keep(conversation.known.settled())

    async def _answering(
        self,
        request: AgentRequest,
        beginning: Callable[[], Awaitable[_Begin | Sequence[AgentEvent]]],
    ) -> Events:
        begin = await beginning()
        if not isinstance(begin, _Begin):
            for event in begin:
                yield event
            return
        try:
            async with aclosing(self._run(request, begin)) as events:
                async for event in events:
                    yield event
        except MaxTurnsExceeded as error:
            turns = f"{self._max_turns} calls of its model"
            reason = f"The agent did not finish within {turns}."
            raise AgentFailedError("limit", reason) from error
        except Exception as error:
            if failure := blocked(error) or failed(error):
                if isinstance(error, ModelRefusalError):
                    yield TaskMetadata({"error": {"category": "model_refused"}})
                raise failure from error
            raise

    async def _begin(
        self, request: AgentRequest, message: TResponseInputItem
    ) -> _Begin | Sequence[AgentEvent]:
        """Return the start of a run, or the events of the answer if there is nothing to run."""
        conversation = await recall(self._storage, request)
        if request.resuming:
            return await self._resumed(request, conversation, message)
        known = conversation.known
        if known.question is None:
            await conversation.claim()
        elif await request.others_wait():
            return [ANOTHER_TASK_WAITS]
        else:  # the task of the question no longer exists, so that it cannot be answered
            await conversation.keep(known.settled())
        agent, begins = agent_named(self._agent, known.agent), len(known.items)
        session = self._session(request, conversation, agent, known.items, begins)
        return _Begin([message], conversation, session, agent, begins)

    async def _resumed(
        self, request: AgentRequest, conversation: Conversation, message: TResponseInputItem
    ) -> _Begin | Sequence[AgentEvent]:
        settled, asked = conversation.known.settled(), conversation.known.question
        if asked is None or asked.task_id != request.task_id:
            return [QUESTION_CLOSED]
        if asked.asked:
            await conversation.keep(settled)
            agent, begins = agent_named(self._agent, asked.agent), len(asked.items)
            session = self._session(request, conversation, agent, asked.items, begins)
            return _Begin([message], conversation, session, agent, begins)
        try:
            state = await self._state(asked)
        except UserError:
            await conversation.keep(settled)
            return [_CHANGED]
        try:
            decide(state, request.parts)
        except InvalidInputError as complaint:
            return [question(state.get_interruptions(), str(complaint))]
        await conversation.keep(settled)  # the question is closed, even if this run fails
        begins = len(asked.items)
        session = self._session(request, conversation, self._agent, asked.items, begins)
        return _Begin(state, conversation, session, self._agent, begins)

    async def _state(self, asked: Question) -> RunState[Any]:
        return await RunState.from_string(
            self._agent, asked.state, context_override=RunContextWrapper(None)
        )

    async def _begin_again(self, request: AgentRequest) -> _Begin | Sequence[AgentEvent]:
        conversation = await recall(self._storage, request)
        known = conversation.known
        begun, asked, ended = known.begun, known.question, known.ended
        if ended and ended.task_id == request.task_id:
            return list(map(restored, ended.rest))
        if asked and _is_asked_upon(asked, request):
            return await self._asked_again(asked)
        if begun is None or begun.task_id != request.task_id:
            if request.resuming and asked is None:
                raise ResumeError("The server was stopped; please start a new task.")
            return await self._begin(request, as_message(request))  # no turn has finished yet
        agent, items = agent_named(self._agent, begun.agent), finished(begun.items)
        await conversation.claim()
        session = self._session(request, conversation, agent, items, begun.begins)
        before = self._said(items[begun.begins :], begun.agent)
        return _Begin([], conversation, session, agent, begun.begins, before)

    async def _asked_again(self, asked: Question) -> Sequence[AgentEvent]:
        answer = RunEvents(agent_named(self._agent, asked.agent), guarded=False, holds=True)
        said = answer.again(self._said(asked.items[asked.begins :], asked.agent))
        if asked.asked:
            return [*said, asking(asked)]
        try:
            state = await self._state(asked)
        except UserError:
            return [_CHANGED]
        return [*said, question(state.get_interruptions())]

    def _said(self, items: Sequence[TResponseInputItem], agent: str) -> Iterable[str | Output]:
        """Return the texts and images of agents; none if any agent has output guardrails."""
        return () if self._is_guarded else said(items, agent)

    def _session(
        self,
        request: AgentRequest,
        conversation: Conversation,
        agent: Agent[Any],
        items: Sequence[TResponseInputItem],
        begins: int,
    ) -> RunSession:
        if self.resumes:
            return StoredSession(request, conversation, agent, items, begins)
        return RunSession(request, items)

    async def _run(self, request: AgentRequest, begin: _Begin) -> Events:
        mark_failures(reachable(self._agent))
        result = Runner.run_streamed(
            begin.agent,
            begin.start,
            context=self._context(request) if self._context else None,
            max_turns=self._max_turns,
            run_config=self._run_config,
            session=begin.session,
        )
        answer = RunEvents(
            result.current_agent,
            guarded=bool(self._run_config.output_guardrails),
            holds=self.holds_text,
            wants_progress=request.wants_progress,
            items=begin.session.items,
        )
        events = cast("AsyncGenerator[StreamEvent]", result.stream_events())
        checks, unchecked = self._input_checks(begin), list[AgentEvent]()
        try:
            answer.go_on(result.new_items)
            for each in answer.again(begin.said):
                yield each
            async for event in events:
                if isinstance(event, AgentUpdatedStreamEvent):
                    await _note_turn(begin.session, event.new_agent)
                unchecked += answer.take(event)
                if _have_passed(result, checks):
                    for each in unchecked:
                        yield each
                    unchecked.clear()
            for each in unchecked:
                yield each
        finally:
            result.cancel()  # otherwise closing the stream would wait for the run
            await events.aclose()
        async for each in self._ending(request, begin, result, answer):
            yield each

    def _input_checks(self, begin: _Begin) -> int:
        """Return the number of guardrails that have to pass before anything is sent.

        The SDK runs them in parallel with the first turn, unless they say otherwise.
        """
        if isinstance(begin.start, RunState):  # which has waited for them before it asked
            return 0
        return len([*begin.agent.input_guardrails, *(self._run_config.input_guardrails or [])])

    async def _ending(
        self, request: AgentRequest, begin: _Begin, result: RunResultStreaming, answer: RunEvents
    ) -> Events:
        """Yield the rest of the answer and keep the conversation, or yield the run's question."""
        conversation, items = begin.conversation, begin.session.items
        agent = result.last_agent.name
        rest = list(answer.pause(result) if result.interruptions else answer.end(result))
        for event in rest:
            yield event
        if not result.interruptions and not answer.asked:
            following = agent if self._follows else ""
            ended = Ended(request.task_id, stored(rest)) if self.resumes else None
            await conversation.keep(Remembered(items, following, ended=ended))
            return
        ids = request.task_id, request.message.message_id, agent
        if answer.asked:
            place = answer.asked
            about = place.question, place.needs_auth
            asked = Question(*ids, "", items, begin.begins, *about)
        else:  # every run makes a new context: it is not stored
            state = result.to_state().to_string(context_serializer=lambda _: {})
            asked = Question(*ids, state, items, begin.begins)
        await conversation.keep(replace(conversation.known.settled(), question=asked))
        yield asking(asked) if asked.asked else question(result.interruptions)


def _tool_skill(tool: Tool) -> Skill:
    return Skill.of(tool.name, tool.description if isinstance(tool, FunctionTool) else "")


def _handoff_skill(handoff: Agent[Any] | Handoff[Any, Any]) -> Skill:
    if isinstance(handoff, Handoff):
        return Skill.of(handoff.agent_name, handoff.tool_description, "agent")
    return Skill.of(handoff.name, handoff.handoff_description, "agent")


def _is_asked_upon(asked: Question, request: AgentRequest) -> bool:
    """Whether a message led to the question, rather than answers it."""
    upon = asked.task_id, asked.message_id
    return upon == (request.task_id, request.message.message_id)


def _have_passed(result: RunResultStreaming, checks: int) -> bool:
    """Whether all input guardrails, given their number, have passed."""
    results = result.input_guardrail_results
    return len(results) >= checks and not any(each.output.tripwire_triggered for each in results)


async def _note_turn(session: RunSession, agent: Agent[Any]) -> None:
    if isinstance(session, StoredSession):
        await session.turn_of(agent)


adapt = OpenAIAgentsAdapter
"""Wraps an agent, with options."""
