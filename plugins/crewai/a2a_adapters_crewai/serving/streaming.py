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
| an agent with tools of the model API | everything; text before a call is withdrawn         |
| an agent that plans                  | nothing                                            |

The task must have no structured output and no review. If a guardrail, hook or callback may change
the answer, the server has to hold its text back. Reasoning is left out.

The text of an attempt that failed, was refused by a guardrail, or ended in a tool call is withdrawn
when the next attempt starts. At the end, the answer is corrected to crewai's result.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

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
from a2a_adapters_crewai.serving.guardrails import has_text_hooks, is_guarded

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from a2a_adapters_crewai.serving.source import Place

_ANSWER = "Final Answer:"
_TOOL = "Observation:"
_THOUGHTS = ("Thought:", _ANSWER, "Action:")
_HELD = max(len(_ANSWER), len(_TOOL))
"""Number of characters held back at the end, where one of the words above may begin."""

_FENCE = " \t\r\n`"
"""The characters that crewai strips from the end of an answer."""

_PASSING = {
    "a2a_adapters", "a2a_adapters_crewai", "crewai", "crewai_core", "openinference",
    "opentelemetry", "pydantic", "wrapt",
}  # fmt: skip
"""The packages that call crewai for others, and pass on what it returns."""

_STANDARD = sysconfig.get_paths()["stdlib"]


@dataclass(slots=True)
class _Speaker:
    """The source of the answer: a task's agent, an agent outside of crews, or a model.

    The text of another model than the agent's is not the answer: the agent's may have called it,
    and check it.
    """

    source: Crew | Agent | BaseLLM
    task_id: str | None = None
    agent_id: str | None = None
    is_model: bool = False
    has_tools: bool = False
    model: object = None
    place: Place | None = None
    """Where a method of a flow calls the model, which others may call beside it."""

    def is_unguarded(self, model: object) -> bool:
        """Whether the text of a model is the speaker's, and nothing may change it.

        Callbacks before a kickoff may still add guardrails, so this holds for one call.
        """
        is_own = self.model is None or self.model is model
        return is_own and not (has_text_hooks() or is_guarded(model) or is_guarded(self.source))

    def emits(self, event: Any) -> bool:
        """Whether an event of a model belongs to the speaker."""
        if self.task_id:
            return bool(event.task_id == self.task_id)
        return event.task_id is None and event.agent_id == self.agent_id

    def begins(self, model: object, event: LLMCallStartedEvent) -> bool:
        """Whether a call of a model belongs to the speaker."""
        return self.emits(event) and (self.place is None or is_called_at(self.place, model))


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
        self._answering: Mapping[str, Place] = {}
        self._methods: list[str] = []
        self._awaited_at: Place | None = None
        """Where a method of the flow calls the first speaker, which has the answer."""

    def follow_crew(self, crew: Crew) -> None:
        """Stream the answer of a crew's last task, if that is safe."""
        if _speaks_its_answer(crew):
            self._speaker = _Speaker(crew, task_id=str(crew.tasks[-1].id))

    def follow_agent(self, agent: Agent) -> None:
        """Stream the answer of an agent outside of crews, if that is safe."""
        if agent.planning_config is None:
            self._speaker = _Speaker(agent, agent_id=str(agent.id))

    def follow_flow(self, flow: object, answering: Mapping[str, Place]) -> None:
        """Stream the first speaker in one of these methods, while no other method runs."""
        self._flow, self._answering = flow, answering

    def take(self, source: Any, event: Any) -> Iterator[AgentEvent]:
        """Yield the text to send after an event, or its withdrawal."""
        if self._answering:
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
            case LLMCallStartedEvent() if speaker.begins(source, event):
                yield from self._begin(speaker, source, event)
            case LLMGuardrailCompletedEvent(success=False) if speaker.emits(event):
                yield from self._withdraw()
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
                yield from self._withdraw()
                if output is not None:
                    yield output

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
        yield from self._withdraw()
        self._is_streaming = self._is_held or speaker.is_unguarded(model)
        self._is_verbatim = speaker.is_model or bool(event.tools)
        self._text, self._is_answer, self._is_marked = "", False, False
        self._reasoning = ReasoningFilter()

    def _withdraw(self) -> Iterator[AgentEvent]:
        self._is_complete = False
        if self._is_sent:
            self._is_sent = False
            yield AnswerText("")

    def _follow(self, source: Any, event: Any) -> None:
        """Find the speaker in a flow."""
        match event:
            case MethodExecutionStartedEvent(method_name=name) if not is_internal(source):
                self._methods.append(name)
                is_alone = self._methods == [name] and source is self._flow
                self._awaited_at = self._answering.get(name) if is_alone else None
                self._speaker = None
            case MethodExecutionFinishedEvent(method_name=name) if name in self._methods:
                self._methods.remove(name)
                self._awaited_at, self._speaker = None, None
            case (
                CrewKickoffStartedEvent() | LiteAgentExecutionStartedEvent() | LLMCallStartedEvent()
            ) if self._awaited_at:
                place, self._awaited_at = self._awaited_at, None
                if is_called_at(place, source):
                    self._follow_speaker(source, place)

    def _follow_speaker(self, source: object, place: Place) -> None:
        match source:
            case Crew():
                self.follow_crew(source)
            case Agent():
                self.follow_agent(source)
            case BaseLLM():
                self._speaker = _Speaker(source, is_model=True, model=source, place=place)

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


def is_called_at(place: Place, source: object) -> bool:
    """Whether a method of a flow has called a crew, an agent or a model itself.

    Other code in between, such as a custom class with a method `kickoff`, may check the result.
    `kickoff_async` of a crew goes to another thread, from which its caller cannot be seen.

    Args:
        place: Where the method calls it.
        source: The crew, agent or model that emits an event. Its methods do not count if crewai
            calls them so. A method of the flow that calls itself may check what it returns.
    """
    frames, method = _stack(), ""
    for frame in frames:
        if _is_method_of(source, frame):
            method = frame.f_code.co_name
        elif not _is_library(frame):
            is_repeated = any(outer.f_code is frame.f_code for outer in frames)
            is_own = not method or _is_known(source, method)
            return is_own and not is_repeated and _current_call(frame) == place
    return False


def _is_known(source: object, method: str) -> bool:
    """Whether crewai itself has a method of a class; others may check what they pass on."""
    kinds = type(source).__mro__
    return any(method in vars(kind) for kind in kinds if kind.__module__.startswith("crewai."))


def _is_method_of(source: object, frame: FrameType) -> bool:
    """Whether a method in the class of an object works with the object."""
    name, module = frame.f_code.co_qualname, frame.f_globals.get("__name__")
    return frame.f_locals.get("self") is source and any(
        kind.__module__ == module and name.startswith(f"{kind.__qualname__}.")
        for kind in type(source).__mro__
    )


def is_called_by_model(source: object) -> bool:
    """Whether another model, which may check the answer, has called one that emits an event."""
    callers = (frame.f_locals.get("self") for frame in _stack())
    return any(isinstance(each, BaseLLM) and each is not source for each in callers)


def _current_call(frame: FrameType) -> tuple[CodeType, int | None, int | None]:
    """Return the place of the call that a frame is in."""
    code = frame.f_code
    _, line, _, column = next(islice(code.co_positions(), frame.f_lasti // 2, None))
    return code, line, column


def _stack() -> Iterator[FrameType]:
    """Yield the frames of the current thread, innermost first."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - `inspect.stack` reads source files
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_library(frame: FrameType) -> bool:
    """Whether code only passes on what a call returns: crewai's, tracing, the standard library."""
    file = frame.f_code.co_filename
    is_standard = file.startswith((_STANDARD, "<frozen ")) and "-packages" not in file
    module = frame.f_globals.get("__name__", "")
    return is_standard or module.partition(".")[0] in _PASSING
