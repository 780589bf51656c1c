"""Streams the answer of a run while the model writes it.

Most texts of models are not the answer: plans, tool calls, drafts that a guardrail rejects. The
answer of a crew comes from the agent of its last task, or the manager of a hierarchy; that of a
flow from the first speaker in a method that `stream_methods` names. It is streamed only if nothing
known changes the text later:

| speaker                              | streamed                                           |
|--------------------------------------|----------------------------------------------------|
| a model outside of agents            | everything                                         |
| an agent without tools               | everything, unless it begins with a thought        |
| an agent with tools as text          | the text after "Final Answer:"                     |
| an agent with tools of the model API | everything; text before a call is withdrawn         |
| an agent that plans                  | nothing                                            |

The task must have no structured output and no review. If a guardrail, hook or callback may change
the answer, the server has to hold its text back. Reasoning is left out.

The text of an attempt that failed, was refused by a guardrail, or ended in a tool call is withdrawn
when the next attempt starts. At the end, the answer is corrected to crewai's result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from crewai import Agent, Crew, Process
from crewai.events.types.agent_events import (
    AgentExecutionStartedEvent,
    LiteAgentExecutionStartedEvent,
)
from crewai.events.types.crew_events import CrewKickoffStartedEvent
from crewai.events.types.flow_events import (
    MethodExecutionFinishedEvent,
    MethodExecutionStartedEvent,
)
from crewai.events.types.llm_events import (
    LLMCallCompletedEvent,
    LLMCallStartedEvent,
    LLMCallType,
    LLMStreamChunkEvent,
)
from crewai.events.types.llm_guardrail_events import LLMGuardrailCompletedEvent
from crewai.llms.base_llm import BaseLLM
from crewai.tasks.conditional_task import ConditionalTask
from crewai.utilities.i18n import I18N_DEFAULT

from a2a_adapters import AgentEvent, Output, Text, TextDelta
from a2a_adapters.plugin import AnswerText, ReasoningFilter
from a2a_adapters_crewai.serving.guardrails import is_checked_call, is_guarded

_ANSWER = "Final Answer:"
_TOOL = "Observation:"
_THOUGHTS = ("Thought:", _ANSWER, "Action:")
_HELD = max(len(_ANSWER), len(_TOOL))
"""Number of characters held back at the end, where one of the words above may begin."""

_FENCE = " \t\r\n`"
"""The characters that crewai strips from the end of an answer."""


@dataclass(slots=True)
class _Speaker:
    """The source of the answer: a task's agent, an agent outside of crews, or a model.

    The text of another model than the agent's is not the answer: the agent's may have called it,
    and check it.
    """

    source: Crew | Agent | BaseLLM
    task_id: str | None = None
    agent_id: str | None = None
    has_tools: bool = False
    model: object = None

    @property
    def is_model(self) -> bool:
        """Whether it is a model outside of agents."""
        return isinstance(self.source, BaseLLM)

    def is_unguarded(self, model: object) -> bool:
        """Whether the text of a model is the speaker's, and nothing may change it.

        Callbacks before a kickoff may still add guardrails, so this holds for one call.
        """
        is_own = self.model is None or self.model is model
        return is_own and not (is_checked_call(model) or is_guarded(self.source))

    def emits(self, event: Any) -> bool:
        """Whether an event of a model belongs to the speaker."""
        if self.task_id:
            return bool(event.task_id == self.task_id)
        return event.task_id is None and event.agent_id == self.agent_id


def is_internal(source: object) -> bool:
    """Whether the source of an event is a flow that crewai itself uses."""
    return type(source).__module__.startswith("crewai.")


class AnswerStream:
    """Streams the answer of one run. Events come from any of its threads, one at a time.

    Args:
        is_held: Whether the server holds the text back until the end of the run.
    """

    def __init__(self, *, is_held: bool = False) -> None:
        self._is_held = is_held
        self._speaker: _Speaker | None = None
        self._reasoning = ReasoningFilter()
        self._text = ""
        self._is_streaming = self._is_verbatim = False
        self._call_id = ""
        self._is_answer = self._is_marked = False
        self._is_sent = self._is_complete = False
        self._flow: object = None
        self._stream_methods: Collection[str] = ()
        self._running: list[str] = []
        """The methods of flows that run now."""
        self._awaits_speaker = False

    def follow_crew(self, crew: Crew) -> None:
        """Stream the answer of a crew's last task, if that is safe."""
        if _speaks_its_answer(crew):
            self._speaker = _Speaker(crew, task_id=str(crew.tasks[-1].id))

    def follow_agent(self, agent: Agent) -> None:
        """Stream the answer of an agent outside of crews, if that is safe."""
        if agent.planning_config is None:
            self._speaker = _Speaker(agent, agent_id=str(agent.id))

    def follow_flow(self, flow: object, methods: Collection[str]) -> None:
        """Stream the first speaker in each of these methods, while no other method runs."""
        self._flow, self._stream_methods = flow, methods

    def take(self, source: Any, event: Any) -> Iterator[AgentEvent]:
        """Yield the text to send after an event, or its withdrawal."""
        if self._stream_methods:
            self._follow(source, event)
        speaker = self._speaker
        if speaker is None:
            return
        match event:
            case LLMStreamChunkEvent() if self._is_current(event):
                if event.tool_call:
                    self._is_streaming = False
                else:
                    yield from self._add(speaker, self._reasoning.add(event.chunk))
            case LLMCallCompletedEvent() if self._is_current(event):
                self._is_streaming = False
                self._is_complete = self._is_sent and event.call_type is not LLMCallType.TOOL_CALL
            case LLMCallStartedEvent() if speaker.emits(event):
                yield from self._begin(speaker, source, event)
            case LLMGuardrailCompletedEvent(success=False) if speaker.emits(event):
                yield from self.withdraw()
            case AgentExecutionStartedEvent() if str(event.task.id) == speaker.task_id:
                speaker.has_tools, speaker.model = bool(event.tools), event.agent.llm
            case LiteAgentExecutionStartedEvent() if str(source.id) == speaker.agent_id:
                speaker.has_tools, speaker.model = bool(event.tools), source.llm

    def finish(self, output: Output | None) -> Iterator[AgentEvent]:
        """Yield the answer; only the differences from its stream are sent."""
        match output:
            case Output(parts=[Text(text) as part]) if part == Text(text):
                yield AnswerText(text)
            case _:
                yield from self.withdraw()
                if output is not None:
                    yield output

    def withdraw(self) -> Iterator[AgentEvent]:
        """Yield the withdrawal of what was streamed, and stream no more of its call."""
        self._is_streaming = self._is_complete = False
        if self._is_sent:
            self._is_sent = False
            yield AnswerText("")

    def _is_current(self, event: LLMStreamChunkEvent | LLMCallCompletedEvent) -> bool:
        """Whether an event belongs to the call that is streamed; others may go on beside it."""
        return self._is_streaming and event.call_id == self._call_id

    def _begin(
        self, speaker: _Speaker, model: object, event: LLMCallStartedEvent
    ) -> Iterator[AgentEvent]:
        """Start the speaker's next attempt at the answer, unless it was completed already."""
        self._is_streaming, self._call_id = False, event.call_id
        if self._is_complete or _is_summary(event):
            return
        yield from self.withdraw()
        self._is_streaming = self._is_held or speaker.is_unguarded(model)
        self._is_verbatim = speaker.is_model or bool(event.tools)
        self._text, self._is_answer, self._is_marked = "", False, False
        self._reasoning = ReasoningFilter()

    def _follow(self, source: Any, event: Any) -> None:
        """Find the speaker in a flow."""
        match event:
            case MethodExecutionStartedEvent(method_name=name) if not is_internal(source):
                self._running.append(name)
                self._stop()
                is_alone = self._running == [name] and source is self._flow
                self._awaits_speaker = is_alone and name in self._stream_methods
            case MethodExecutionFinishedEvent(method_name=name) if name in self._running:
                self._running.remove(name)
                self._stop()
            case (
                CrewKickoffStartedEvent() | LiteAgentExecutionStartedEvent() | LLMCallStartedEvent()
            ) if self._awaits_speaker:
                self._awaits_speaker = False
                self._follow_speaker(source)

    def _stop(self) -> None:
        """Follow no speaker; what was sent is withdrawn when the next one begins."""
        self._speaker = None
        self._awaits_speaker = self._is_streaming = self._is_complete = False

    def _follow_speaker(self, source: object) -> None:
        match source:
            case Crew():
                self.follow_crew(source)
            case Agent():
                self.follow_agent(source)
            case BaseLLM():
                self._speaker = _Speaker(source, model=source)

    def _add(self, speaker: _Speaker, chunk: str) -> Iterator[TextDelta]:
        self._text += chunk
        if not self._is_verbatim:
            if not self._is_answer and not self._reaches_answer(speaker):
                return
            if _ANSWER in self._text or _TOOL in self._text:
                self._is_streaming = False
                return
        ready = self._text[:-_HELD].rstrip(_FENCE)
        if self._is_marked and not self._is_sent:
            ready = ready.lstrip()
        if ready:
            self._text = self._text[self._text.index(ready) + len(ready) :]
            self._is_sent = True
            yield TextDelta(ready)

    def _reaches_answer(self, speaker: _Speaker) -> bool:
        """Whether the text has reached the answer; the text before it is dropped."""
        before, mark, after = self._text.partition(_ANSWER)
        if mark:
            self._reasoning = ReasoningFilter()
            self._text = self._reasoning.add(after)
            self._is_answer = self._is_marked = True
        elif not speaker.has_tools:
            start = before.lstrip(_FENCE)
            self._is_answer = not any(
                start.startswith(word) or word.startswith(start) for word in _THOUGHTS
            )
        return self._is_answer


def _speaks_its_answer(crew: Crew) -> bool:
    """Whether the answer of a crew is the text of its last task's agent."""
    task = crew.tasks[-1] if crew.tasks else None
    if task is None:
        return False
    # A hierarchy without a manager gets one that does not plan.
    is_hierarchy = crew.process is Process.hierarchical
    agent = crew.manager_agent if is_hierarchy else task.agent
    speaks = agent.planning_config is None if isinstance(agent, Agent) else agent is None
    structure = task.output_json or task.output_pydantic or task.response_model
    return (
        speaks
        and (is_hierarchy or agent is not None)
        and not isinstance(task, ConditionalTask)
        and not (structure or task.human_input)
    )


def _is_summary(event: LLMCallStartedEvent) -> bool:
    """Whether the model is asked to summarise a conversation that exceeds its context."""
    if not isinstance(event.messages, list):
        return False
    instruction = I18N_DEFAULT.slice("summarizer_system_message")
    return any(message.get("content") == instruction for message in event.messages)
