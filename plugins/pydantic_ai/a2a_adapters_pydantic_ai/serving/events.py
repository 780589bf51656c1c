"""Converts the events of a run to adapter events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai import (
    AgentRunResultEvent,
    BinaryContent,
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

from a2a_adapters import AgentEvent, Progress, TextDelta
from a2a_adapters.plugin import AnswerText, Speech, ToolCalls, as_json
from a2a_adapters_pydantic_ai.calling.messages import asked_by, is_question
from a2a_adapters_pydantic_ai.serving.guards import (
    checks_arguments,
    checks_output,
    checks_responses,
    checks_results,
)
from a2a_adapters_pydantic_ai.serving.output import (
    accepted,
    answers_text,
    as_file,
    final_output,
    metadata_of,
    refuses,
    with_text,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pydantic_ai import (
        AgentRunResult,
        AgentStreamEvent,
        ModelMessage,
        ModelResponse,
        ModelResponsePart,
    )
    from pydantic_ai.agent import AbstractAgent
    from pydantic_ai.messages import BaseToolReturnPart

    from a2a_adapters_pydantic_ai.calling.messages import Place

_ERRORS = {"failed", "retried"}
"""The outcomes of a tool call that mean a failure."""


class RunEvents:
    """Converts the events of one run.

    The text of every model response is the answer, token by token, until the agent refuses the
    response. An agent that checks its output answers with the output alone, and an agent with an
    output type other than text with data. Files and thoughts of responses that the agent checks
    are sent once it has accepted them.

    Attributes:
        result: The result of the run, once it has ended.
        messages: The messages of the conversation up to the current point of the run.
        asked: The place and the question of a remote agent with which the run has ended, if any.

    Args:
        agent: The agent.
        holds: Whether the server may hold text back that the agent has not accepted.
        wants_progress: Whether the client follows the progress.
        before: The ids of earlier runs of the conversation.
        known: The names of tools whose calls an earlier run reported, by the id of the call.
    """

    result: AgentRunResult[Any]
    messages: Sequence[ModelMessage]
    asked: tuple[Place, str] | None = None

    def __init__(
        self,
        agent: AbstractAgent[Any, Any],
        *,
        holds: bool,
        wants_progress: bool,
        before: Collection[str | None],
        known: Mapping[str, str],
    ) -> None:
        self._agent = agent
        self._before = before
        self._checks_output = checks_output(agent)
        self._checks_arguments = checks_arguments(agent)
        self._checks_results = checks_results(agent)
        self._waits = self._checks_output or checks_responses(agent)
        self._is_text = answers_text(agent.output_type)
        self._is_streamed = self._is_text and (holds or not self._waits)
        self._wants_progress = wants_progress
        self._tools = ToolCalls(known)
        self._running: dict[str, str] = {}
        self._speech = Speech[int]()
        self._response = 0
        self._reported = 0
        self._is_accepted = True

    @property
    def in_tool(self) -> bool:
        """Whether a tool is running."""
        return bool(self._running)

    @property
    def _is_refused(self) -> bool:
        """Whether the agent asks for another response in place of the last one."""
        return refuses(*[None, None, *self.messages[-2:]][-2:])

    def take(self, event: AgentStreamEvent | AgentRunResultEvent[Any]) -> Iterator[AgentEvent]:
        """Yield the adapter events for an event of the framework."""
        match event:
            case PartStartEvent(index=index, part=part):
                if index == 0:
                    yield from self._begin_response()
                yield from self._started(part)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                yield from self._text(text)
            case PartEndEvent(part=part) if not self._waits:
                yield from self._ended(part)
            case FunctionToolCallEvent(part=call):
                yield from self._accept()
                self._running[call.tool_call_id] = call.tool_name
                is_checked = self._checks_arguments or event.args_valid is False
                arguments = None if is_checked else call.args
                yield from self._call(call.tool_call_id, call.tool_name, arguments)
            case FunctionToolResultEvent(part=result):
                self._running.pop(result.tool_call_id, None)
                yield from self._result(result, is_checked=self._checks_results)
            case AgentRunResultEvent(result=ended):
                self.result = ended
            case CustomEvent() if event.ui:
                yield from self._progress("", as_json(event))

    def again(self) -> Iterator[AgentEvent]:
        """Withdraw the response that failed; the next ones arrive as a whole."""
        if not self._waits:
            self._reported = len(accepted(self.messages, self._before))
        self._waits, self._is_accepted = True, False
        yield from self._accept()

    def fail(self) -> Iterator[AgentEvent]:
        """Yield the results of the tools that were running when an error ended the run."""
        for call_id, name in self._running.items():
            if self._wants_progress:
                yield from self._tools.finished(call_id, None, name=name, is_error=True)

    def end(self) -> Iterator[AgentEvent]:
        """Yield the rest of the answer and the metadata of a run that waits or has ended."""
        output = self.result.output
        responses = accepted(self.result.all_messages(), self._before)
        self.asked = asked_by(responses[-1]) if responses else None
        is_text = self._is_text and isinstance(output, str)
        answer = [each.parts for each in responses]
        if is_text and not self.asked:
            answer = [*answer[:-1], with_text(answer[-1] if answer else (), output)]
        if self._checks_output:
            yield from self._report(responses)
            yield from self._accepted([self._checked(answer[-1] if answer else (), output)])
        else:
            yield from self._accepted(answer, self._reported)
        if not is_text and not isinstance(output, DeferredToolRequests):
            yield from final_output(output, self._agent)
        yield metadata_of(self.result.usage)

    def _begin_response(self) -> Iterator[AgentEvent]:
        if self._response and (self._waits or self._is_refused):
            yield from self._accept()
        else:
            yield from self._delta(self._speech.end(self._response))
        self._response += 1
        self._is_accepted = not self._waits

    def _accept(self) -> Iterator[AgentEvent]:
        """Yield the text that is accepted so far, and the other events that have waited for it."""
        if self._is_accepted and not self._is_refused:
            return
        self._is_accepted = True
        responses = accepted(self.messages, self._before)
        if self._checks_output:
            yield from self._report(responses)
        else:
            yield from self._accepted([each.parts for each in responses], self._reported)
            self._reported = len(responses)

    def _accepted(
        self, responses: Sequence[Sequence[ModelResponsePart]], known: int = 0
    ) -> Iterator[AgentEvent]:
        """Yield the text of responses, and in its place what else those have that are not known."""
        self._speech = Speech()
        said = ""
        for number, parts in enumerate(responses):
            for part in parts:
                if isinstance(part, TextPart):
                    said += self._speech.add(number, "" if is_question(part) else part.content)
                elif self._waits and number >= known:
                    if self._is_text and isinstance(part, FilePart):
                        yield AnswerText(said)
                    yield from self._part(part)
                    yield from self._ended(part)
            said += self._speech.end(number)
        if self._is_text:
            yield AnswerText(said)

    def _checked(
        self, parts: Sequence[ModelResponsePart], output: object
    ) -> list[ModelResponsePart]:
        """Return the text and the files of the output of an agent that checks it."""
        if isinstance(output, BinaryContent):
            return [FilePart(output)]
        if isinstance(output, DeferredToolRequests):
            return []  # nothing has checked what precedes a question
        kinds = TextPart | FilePart if isinstance(output, str) and not self.asked else FilePart
        return [part for part in parts if isinstance(part, kinds)]

    def _report(self, responses: Sequence[ModelResponse]) -> Iterator[AgentEvent]:
        """Yield the progress of responses that the agent did not refuse.

        The checks of the output see neither thoughts nor the files of other responses.
        """
        for part in (part for each in responses[self._reported :] for part in each.parts):
            if not isinstance(part, FilePart | ThinkingPart):
                yield from self._part(part)
                yield from self._ended(part)
        self._reported = len(responses)

    def _text(self, text: str) -> Iterator[AgentEvent]:
        if self._is_streamed:
            yield from self._delta(self._speech.add(self._response, text))

    def _started(self, part: ModelResponsePart) -> Iterator[AgentEvent]:
        if isinstance(part, TextPart):
            yield from self._text("" if is_question(part) else part.content)
        elif not self._waits:
            yield from self._part(part)

    def _part(self, part: ModelResponsePart) -> Iterator[AgentEvent]:
        match part:
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

    def _result(
        self, part: BaseToolReturnPart[Any], *, is_checked: bool = False
    ) -> Iterator[AgentEvent]:
        if self._wants_progress:
            failed = part.outcome in _ERRORS
            shown = None if is_checked else part.content
            yield from self._tools.finished(
                part.tool_call_id, shown, name=part.tool_name, is_error=failed
            )

    def _progress(self, text: str, data: Any) -> Iterator[AgentEvent]:
        if self._wants_progress:
            yield Progress(text, data)

    @staticmethod
    def _delta(text: str) -> Iterator[AgentEvent]:
        if text:
            yield TextDelta(text)
