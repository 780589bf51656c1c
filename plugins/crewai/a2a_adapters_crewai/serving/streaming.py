"""Streams the answer of a run while the model writes it.

Most texts of models are not the answer: plans, tool calls, drafts that a guardrail rejects. The
answer of a crew comes from the agent of its last task, or the manager of a hierarchy; that of a
flow from the first speaker in a method that returns the text (see `source`). It is streamed only if
nothing changes the text later:

| speaker                              | streamed                                           |
|--------------------------------------|----------------------------------------------------|
| a model outside of agents            | everything                                         |
| an agent without tools               | everything, unless it begins with a thought        |
| an agent with tools as text          | the text after "Final Answer:"                     |
| an agent with tools of the model API | everything; text before a call becomes a paragraph |
| an agent that plans                  | nothing                                            |

The task must have no guardrail, structured output or review, an agent outside of crews no
guardrail, and the crew no callback after the kickoff. Reasoning is left out. An answer that was not
streamed is sent whole at the end.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from crewai import Agent, Crew, Process, Task
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
from crewai.tasks.conditional_task import ConditionalTask
from crewai.utilities.i18n import I18N_DEFAULT

from a2a_adapters import AgentEvent, Output, ReasoningFilter, Text, TextDelta

logger = logging.getLogger(__name__)

_ANSWER = "Final Answer:"
_TOOL = "Observation:"
_THOUGHTS = ("Thought:", _ANSWER, "Action:")
_HELD = max(len(_ANSWER), len(_TOOL))
"""Number of characters held back at the end, where one of the words above may begin."""

_SEPARATOR = "\n\n"
"""Separates text before a tool call from the text after it."""

_FENCE = " \t\r\n`"
"""The characters that crewai strips from the end of an answer."""


@dataclass(slots=True)
class _Speaker:
    """The source of the answer: a task's agent, an agent outside of crews, or a model."""

    task_id: str | None = None
    agent_id: str | None = None
    is_model: bool = False
    has_tools: bool = False

    def emits(self, event: Any) -> bool:
        """Whether an event of a model belongs to the speaker."""
        if self.task_id:
            return bool(event.task_id == self.task_id)
        return event.task_id is None and event.agent_id == self.agent_id


def is_internal(source: object) -> bool:
    """Whether the source of an event is a flow that crewai itself uses."""
    return type(source).__module__.startswith("crewai.")


class AnswerStream:
    """Streams the answer of one run. Events come from any of its threads, one at a time."""

    def __init__(self) -> None:
        self._speaker: _Speaker | None = None
        self._reasoning = ReasoningFilter()
        self._sent: list[str] = []
        self._text = ""
        self._is_streaming = False
        self._is_answer = False
        self._is_verbatim = False
        self._separator = ""
        self._answering: Collection[str] = ()
        self._methods: list[str] = []
        self._awaits_speaker = False

    def follow_crew(self, crew: Crew) -> None:
        """Stream the answer of a crew's last task, if nothing changes it later."""
        if _streams_its_answer(crew):
            self._speaker = _Speaker(task_id=str(crew.tasks[-1].id))

    def follow_agent(self, agent: Agent) -> None:
        """Stream the answer of an agent outside of crews, if nothing changes it later."""
        if agent.planning_config is None and agent.guardrail is None:
            self._speaker = _Speaker(agent_id=str(agent.id))

    def follow_flow(self, answering: Collection[str]) -> None:
        """Stream the first speaker in one of these methods, while no other method runs."""
        self._answering = answering

    def take(self, source: Any, event: Any) -> Iterator[TextDelta]:
        """Yield the text to send after an event."""
        if self._answering:
            self._follow(source, event)
        speaker = self._speaker
        if speaker is None:
            return
        match event:
            case LLMStreamChunkEvent() if self._is_streaming and speaker.emits(event):
                if event.tool_call:
                    yield from self._end_paragraph()
                else:
                    yield from self._add(speaker, self._reasoning.add(event.chunk))
            case LLMCallCompletedEvent() if self._is_streaming and speaker.emits(event):
                if event.call_type is LLMCallType.TOOL_CALL:
                    yield from self._end_paragraph()
            case LLMCallStartedEvent() if speaker.emits(event):
                # Sent text cannot be taken back if the model is called again after a failure.
                self._is_streaming = not (self._sent or _is_summary(event))
                self._is_verbatim = speaker.is_model or bool(event.tools)
                self._text, self._is_answer = "", False
                self._reasoning = ReasoningFilter()
            case AgentExecutionStartedEvent() if str(event.task.id) == speaker.task_id:
                speaker.has_tools = bool(event.tools)
            case LiteAgentExecutionStartedEvent() if str(source.id) == speaker.agent_id:
                speaker.has_tools = bool(event.tools)

    def finish(self, output: Output | None) -> Iterator[AgentEvent]:
        """Yield the part of the answer that was not streamed."""
        sent = "".join(self._sent)
        match output:
            case Output(parts=[Text(text)]) if sent and text.lstrip().startswith(sent):
                yield TextDelta(text.lstrip()[len(sent) :])
            case Output(parts=[Text(text)]) if self._separator and not sent:
                yield TextDelta(self._separator + text.lstrip())
            case Output():
                if sent:
                    logger.warning("the answer differs from its stream and is sent whole")
                yield output

    def _follow(self, source: Any, event: Any) -> None:
        """Find the speaker in a flow."""
        match event:
            case MethodExecutionStartedEvent(method_name=name) if not is_internal(source):
                self._methods.append(name)
                self._awaits_speaker = self._methods == [name] and name in self._answering
                self._speaker = None
            case MethodExecutionFinishedEvent(method_name=name) if name in self._methods:
                self._methods.remove(name)
                self._awaits_speaker, self._speaker = False, None
            case CrewKickoffStartedEvent() if self._awaits_speaker:
                self._awaits_speaker = False
                self.follow_crew(source)
            case LiteAgentExecutionStartedEvent() if self._awaits_speaker:
                self._awaits_speaker = False
                self.follow_agent(source)
            case LLMCallStartedEvent() if self._awaits_speaker:
                self._awaits_speaker = False
                self._speaker = _Speaker(is_model=True)

    def _add(self, speaker: _Speaker, chunk: str) -> Iterator[TextDelta]:
        self._text += chunk
        if not self._is_verbatim:
            if not self._is_answer and not self._reaches_answer(speaker):
                return
            if _ANSWER in self._text or _TOOL in self._text:
                self._is_streaming = False
                return
        ready = self._text[:-_HELD].rstrip(_FENCE)
        if not self._sent:
            ready = ready.lstrip()
        if ready:
            self._text = self._text[self._text.index(ready) + len(ready) :]
            yield self._delta(ready)

    def _delta(self, text: str) -> TextDelta:
        separator = "" if self._sent else self._separator
        self._sent.append(text)
        return TextDelta(separator + text)

    def _end_paragraph(self) -> Iterator[TextDelta]:
        """Send the rest of the text before a tool call, as a paragraph of its own."""
        self._is_streaming = False
        if rest := self._text.strip() if not self._sent else self._text.rstrip():
            yield self._delta(rest)
        if self._sent:
            self._sent.clear()
            self._separator = _SEPARATOR

    def _reaches_answer(self, speaker: _Speaker) -> bool:
        """Whether the text has reached the answer; the text before it is dropped."""
        before, mark, after = self._text.partition(_ANSWER)
        if mark:
            self._reasoning = ReasoningFilter()
            self._text, self._is_answer = self._reasoning.add(after), True
        elif not speaker.has_tools:
            start = before.lstrip(_FENCE)
            self._is_answer = not any(
                start.startswith(word) or word.startswith(start) for word in _THOUGHTS
            )
        return self._is_answer


def _streams_its_answer(crew: Crew) -> bool:
    """Whether the text of the last task's agent is the crew's answer, word for word."""
    task = crew.tasks[-1] if crew.tasks else None
    if task is None or crew.after_kickoff_callbacks:
        return False
    # A hierarchy without a manager gets one that does not plan.
    is_hierarchy = crew.process is Process.hierarchical
    agent = crew.manager_agent if is_hierarchy else task.agent
    speaks = agent.planning_config is None if isinstance(agent, Agent) else agent is None
    return (
        speaks
        and (is_hierarchy or agent is not None)
        and not isinstance(task, ConditionalTask)
        and not _is_changed(task)
    )


def _is_changed(task: Task) -> bool:
    structure = task.output_json or task.output_pydantic or task.response_model
    return bool(structure or task.guardrail or task.guardrails or task.human_input)


def _is_summary(event: LLMCallStartedEvent) -> bool:
    """Whether the model is asked to summarise a conversation that exceeds its context."""
    if not isinstance(event.messages, list):
        return False
    instruction = I18N_DEFAULT.slice("summarizer_system_message")
    return any(message.get("content") == instruction for message in event.messages)
