"""The answer of a run as its model says it, without what the model thinks.

Most texts of models are not the answer: plans, calls of tools, drafts that a guardrail refuses. Of
a crew only the agent of the last task is heard, or the manager of a hierarchy; of a flow, who
speaks first in a method that returns what was said (see `answering`). And only where nothing
changes the text later:

| speaker                          | heard                                                        |
|----------------------------------|--------------------------------------------------------------|
| a model alone                    | all it says                                                  |
| an agent without tools           | all it says, unless it begins with a thought                 |
| calls tools by text ("Action:")  | the text after "Final Answer:"                               |
| calls tools by the model's API   | all it says; what precedes a call is set apart               |
| plans                            | nothing                                                      |

The task must have no guardrail, structured output or review, an agent alone no guardrail, the crew
no callback after it. Reasoning before an answer is left out. An answer that was not heard is
sent whole at the end.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
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
"""So many of the last characters are held back: one of the words above may begin there."""

_BETWEEN = "\n\n"
"""Sets apart what an agent says before it calls a tool."""

_FENCE = " \t\r\n`"
"""crewai takes such characters off an answer's end."""


@dataclass(slots=True)
class _Speaker:
    """Whose words are the answer: the agent of a task, an agent alone, or a model alone."""

    task_id: str | None = None
    agent_id: str | None = None
    is_model: bool = False
    has_tools: bool = False

    def says(self, event: Any) -> bool:
        """Whether an event of a model is the speaker's."""
        if self.task_id:
            return bool(event.task_id == self.task_id)
        return event.task_id is None and event.agent_id == self.agent_id


def is_internal(source: object) -> bool:
    """Whether it is one of the flows that crewai itself is built of."""
    return type(source).__module__.startswith("crewai.")


class Speech:
    """What is heard of one run. Events come from any of its threads, one after the other."""

    def __init__(self) -> None:
        self._speaker: _Speaker | None = None
        self._reasoning = ReasoningFilter()
        self._said: list[str] = []
        self._text = ""
        self._is_on = False
        self._is_answer = False
        self._is_verbatim = False
        self._between = ""
        self._answering: Collection[str] = ()
        self._running: list[str] = []
        self._awaits_speaker = False

    def follow_crew(self, crew: Crew) -> None:
        """Listen to the last task of a crew, if its answer can be told while it comes."""
        if _is_answered_as_said(crew):
            self._speaker = _Speaker(task_id=str(crew.tasks[-1].id))

    def follow_agent(self, agent: Agent) -> None:
        """Listen to an agent of no crew, if its answer can be told while it comes."""
        if agent.planning_config is None and agent.guardrail is None:
            self._speaker = _Speaker(agent_id=str(agent.id))

    def follow_flow(self, answering: Collection[str]) -> None:
        """Listen to who speaks first in one of these methods, while no other one runs."""
        self._answering = answering

    def take(self, source: Any, event: Any) -> Iterator[TextDelta]:
        """Yield what an event lets the caller hear."""
        if self._answering:
            self._follow(source, event)
        speaker = self._speaker
        if speaker is None:
            return
        match event:
            case LLMStreamChunkEvent() if self._is_on and speaker.says(event):
                if event.tool_call:
                    yield from self._call_tool()
                else:
                    yield from self._hear(speaker, self._reasoning.add(event.chunk))
            case LLMCallCompletedEvent() if self._is_on and speaker.says(event):
                if event.call_type is LLMCallType.TOOL_CALL:
                    yield from self._call_tool()
            case LLMCallStartedEvent() if speaker.says(event):
                # What is said a second time, after a failure, cannot be taken back.
                self._is_on = not (self._said or _is_summary(event))
                self._is_verbatim = speaker.is_model or bool(event.tools)
                self._text, self._is_answer = "", False
                self._reasoning = ReasoningFilter()
            case AgentExecutionStartedEvent() if str(event.task.id) == speaker.task_id:
                speaker.has_tools = bool(event.tools)
            case LiteAgentExecutionStartedEvent() if str(source.id) == speaker.agent_id:
                speaker.has_tools = bool(event.tools)

    def finish(self, events: Iterable[AgentEvent]) -> Iterator[AgentEvent]:
        """Yield what of the run's last events was not heard yet."""
        said = "".join(self._said)
        for event in events:
            match event:
                case Output(parts=[Text(text)]) if said and text.lstrip().startswith(said):
                    yield TextDelta(text.lstrip()[len(said) :])
                case Output(parts=[Text(text)]) if self._between and not said:
                    yield TextDelta(self._between + text.lstrip())
                case _:
                    if said:
                        logger.warning("an answer was not what its model said; it is sent whole")
                    yield event

    def _follow(self, source: Any, event: Any) -> None:
        """Find out who speaks in a flow."""
        match event:
            case MethodExecutionStartedEvent(method_name=name) if not is_internal(source):
                self._running.append(name)
                self._awaits_speaker = self._running == [name] and name in self._answering
                self._speaker = None
            case MethodExecutionFinishedEvent(method_name=name) if name in self._running:
                self._running.remove(name)
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

    def _hear(self, speaker: _Speaker, chunk: str) -> Iterator[TextDelta]:
        self._text += chunk
        if not self._is_verbatim:
            if not self._is_answer and not self._begins(speaker):
                return
            if _ANSWER in self._text or _TOOL in self._text:
                self._is_on = False
                return
        heard = self._text[:-_HELD].rstrip(_FENCE)
        if not self._said:
            heard = heard.lstrip()
        if heard:
            self._text = self._text[self._text.index(heard) + len(heard) :]
            yield self._say(heard)

    def _say(self, text: str) -> TextDelta:
        between = "" if self._said else self._between
        self._said.append(text)
        return TextDelta(between + text)

    def _call_tool(self) -> Iterator[TextDelta]:
        """Complete what was said before the call of a tool, as a message of its own."""
        self._is_on = False
        if rest := self._text.strip() if not self._said else self._text.rstrip():
            yield self._say(rest)
        if self._said:
            self._said.clear()
            self._between = _BETWEEN

    def _begins(self, speaker: _Speaker) -> bool:
        """Whether the text has come to the answer; what stood before that is forgotten."""
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


def _is_answered_as_said(crew: Crew) -> bool:
    """Whether what the agent of the last task says is the crew's answer, word by word."""
    task = crew.tasks[-1] if crew.tasks else None
    if task is None or crew.after_kickoff_callbacks:
        return False
    # Without a manager of its own a hierarchy gets one that does not plan.
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
    """Whether the model is told to shorten a conversation that is too long for it."""
    if not isinstance(event.messages, list):
        return False
    order = I18N_DEFAULT.slice("summarizer_system_message")
    return any(message.get("content") == order for message in event.messages)
