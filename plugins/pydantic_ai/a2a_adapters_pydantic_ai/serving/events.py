"""Converts the events of a run to adapter events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai import (
    AgentRunResultEvent,
    CustomEvent,
    DeferredToolRequests,
    FilePart,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    NativeToolCallPart,
    NativeToolReturnPart,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
)

from a2a_adapters import AgentEvent, Progress, Speech, TextDelta, ToolCalls, as_json
from a2a_adapters_pydantic_ai.serving.output import (
    answers_text,
    as_file,
    final_output,
    metadata_of,
    validates_output,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic_ai import AgentRunResult, AgentStreamEvent, ModelResponsePart
    from pydantic_ai.agent import AbstractAgent
    from pydantic_ai.messages import BaseToolReturnPart

_ERRORS = {"failed", "retried"}
"""The outcomes of a tool call that mean a failure."""


class RunEvents:
    """Converts the events of one run.

    The text of every model response is the answer, token by token. Exceptions: an agent with an
    output type other than text answers with its final output, and an agent with output validators
    with the text that they have passed.

    Attributes:
        result: The result of the run, once it has ended.

    Args:
        agent: The agent.
        wants_progress: Whether the client follows the progress.
        known: The names of tools whose calls an earlier run reported, by the id of the call.
    """

    result: AgentRunResult[Any]

    def __init__(
        self, agent: AbstractAgent[Any, Any], *, wants_progress: bool, known: Mapping[str, str]
    ) -> None:
        self._agent = agent
        self._is_text = answers_text(agent.output_type)
        self._is_streamed = self._is_text and not validates_output(agent)
        self._wants_progress = wants_progress
        self._tools = ToolCalls(known)
        self._running: dict[str, str] = {}
        self._speech = Speech[int]()
        self._response = 0

    @property
    def in_tool(self) -> bool:
        """Whether a tool is running."""
        return bool(self._running)

    def take(self, event: AgentStreamEvent | AgentRunResultEvent[Any]) -> Iterator[AgentEvent]:
        """Yield the adapter events for an event of the framework."""
        match event:
            case PartStartEvent(index=index, part=part):
                if index == 0:
                    yield from self._delta(self._end_of_response())
                yield from self._started(part)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                yield from self._text(text)
            case PartEndEvent(part=part):
                yield from self._ended(part)
            case FunctionToolCallEvent(part=call):
                self._running[call.tool_call_id] = call.tool_name
                yield from self._call(call.tool_call_id, call.tool_name, call.args)
            case FunctionToolResultEvent(part=result):
                self._running.pop(result.tool_call_id, None)
                yield from self._result(result)
            case AgentRunResultEvent(result=ended):
                self.result = ended
            case CustomEvent() if event.ui:
                yield from self._progress("", as_json(event))

    def fail(self) -> Iterator[AgentEvent]:
        """Yield the results of the tools that were running when an error ended the run."""
        for call_id, name in self._running.items():
            if self._wants_progress:
                yield from self._tools.finished(call_id, None, name=name, is_error=True)

    def end(self) -> Iterator[AgentEvent]:
        """Yield the rest of the answer and the metadata of a run that waits or has ended."""
        output = self.result.output
        if self._is_text and isinstance(output, str):
            yield from self._delta(self._speech.end(self._response, output))
        else:
            yield from self._delta(self._speech.rest())
            if not isinstance(output, DeferredToolRequests):
                yield from final_output(output, self._agent)
        yield metadata_of(self.result.usage)

    def _text(self, text: str) -> Iterator[AgentEvent]:
        if self._is_streamed:
            yield from self._delta(self._speech.add(self._response, text))

    def _end_of_response(self) -> str:
        rest = self._speech.end(self._response)
        self._response += 1
        return rest

    def _started(self, part: ModelResponsePart) -> Iterator[AgentEvent]:
        match part:
            case TextPart(content=text):
                yield from self._text(text)
            case FilePart(content=content):
                yield as_file(content)
            case NativeToolReturnPart():
                yield from self._result(part)

    def _ended(self, part: ModelResponsePart) -> Iterator[AgentEvent]:
        match part:
            case ThinkingPart(content=text) if text:
                yield from self._progress(text, {"kind": "thought"})
            case NativeToolCallPart():
                yield from self._call(part.tool_call_id, part.tool_name, part.args)

    def _call(self, call_id: str, name: str, arguments: object) -> Iterator[AgentEvent]:
        if self._wants_progress:
            yield from self._tools.started(call_id, name, arguments)

    def _result(self, part: BaseToolReturnPart[Any]) -> Iterator[AgentEvent]:
        if self._wants_progress:
            failed = part.outcome in _ERRORS
            yield from self._tools.finished(
                part.tool_call_id, part.content, name=part.tool_name, is_error=failed
            )

    def _progress(self, text: str, data: Any) -> Iterator[AgentEvent]:
        if self._wants_progress:
            yield Progress(text, data)

    @staticmethod
    def _delta(text: str) -> Iterator[AgentEvent]:
        if text:
            yield TextDelta(text)
