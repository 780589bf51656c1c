"""Converts the events of a run to adapter events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import TypeAdapter

from a2a_adapters import (
    AgentEvent,
    File,
    Output,
    Progress,
    TaskMetadata,
    Text,
    TextDelta,
    TokenUsage,
)
from a2a_adapters.plugin import CheckedSpeech, ToolCalls, as_output
from a2a_adapters_google_adk.serving.failures import is_filter
from a2a_adapters_google_adk.serving.guards import changes_calls, is_guarded
from a2a_adapters_google_adk.serving.questions import ASKING, INPUT, LongCalls, as_call
from a2a_adapters_google_adk.serving.targets import helpers, members, schemas, speakers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from google.adk.events.event import Event
    from google.adk.runners import Runner
    from google.genai.types import GenerateContentResponseUsageMetadata
    from google.genai.types import Part as GenaiPart

    from a2a_adapters_google_adk.serving.targets import Root

_Speaker: TypeAlias = tuple[str, str]
"""The author of an event and its branch, as agents speak in parallel."""
_LAST: _Speaker = ("", "")
"""The speaker of the last text of an agent that may not be the answering one."""


class RunEvents:
    """Converts the events of the run of one message.

    The words of the agents that answer are streamed. The last text of another agent, with its
    files, follows unless one of them speaks after it. Agents with an `output_schema` answer with
    data.

    Attributes:
        calls: The calls that wait for the caller, as they are stored.

    Args:
        root: The agent or the workflow.
        wants_progress: Whether the client follows the progress.
        names: The tools whose calls continue with the run, by call id.
        runner: The runner, whose callbacks may change what was streamed.
        is_held: Whether the server holds text back until it is accepted.
        long_calls: The calls of long-running tools.
    """

    def __init__(
        self,
        root: Root,
        *,
        wants_progress: bool,
        names: Mapping[str, str],
        runner: Runner,
        is_held: bool,
        long_calls: LongCalls,
    ) -> None:
        self._long = long_calls
        self._runner = runner
        self._schemas = schemas(root)
        self._answering = speakers(root)
        self._speakers = self._answering - self._schemas.keys()
        self._helpers = helpers(root)
        self._members = members(root)
        self._wants_progress = wants_progress
        self._tools = ToolCalls(names)
        self._speech = CheckedSpeech[_Speaker](holds=is_held)
        self._is_held = is_held
        self._speaking: set[_Speaker] = set()
        self._failed: set[_Speaker] = set()
        self._last: dict[str, list[AgentEvent]] = {}
        """What was said last, by the member of a `ParallelAgent`."""
        self._drawn: list[Output] = []
        """The messages of other agents that have files, which a question may be about."""
        self._has_output = False
        self._codes: dict[str, str] = {}
        """The codes with which models ended their last messages, by such a member."""
        self._usage = [0, 0, 0]
        self.calls: list[Mapping[str, Any]] = []

    @property
    def error_code(self) -> str:
        """The code with which the model of an agent that answers ended its last message, or ""."""
        return next(filter(None, self._codes.values()), "")

    def take(self, event: Event) -> Iterator[AgentEvent]:
        """Yield the adapter events for an event."""
        if event.author == "user":
            return
        parts = _parts(event)
        if event.partial:
            yield from self._chunk(event, _text(parts))
            return
        member = self._members.get(event.author, "")
        if event.error_code or event.content or event.output is not None:
            self._codes = {**(self._codes if member else {}), member: event.error_code or ""}
        self._count(event.usage_metadata)
        is_answer = event.author in self._answering
        if self._wants_progress:
            if is_answer:
                yield from _thoughts(parts)
            yield from self._tool_events(event, parts)
        text = _without_questions(event, _text(parts))
        for said, files in _passages(parts) if is_answer else [(text, [])]:
            if said or not text:
                yield from self._message(event, _without_questions(event, said))
            yield from _files(files)
        is_said = text and (event.output == text or event.author in self._schemas)
        if event.output is not None and not is_said:
            yield from self._output(event)
        waiting = event.long_running_tool_ids or ()
        self.calls += [
            as_call(each, member) for each in event.get_function_calls() if each.id in waiting
        ]
        self._drop_answered(event)

    def _drop_answered(self, event: Event) -> None:
        """Do not ask about calls that a callback has answered in place of the tool."""
        unconfirmed = event.actions.requested_tool_confirmations
        results = {each.id for each in event.get_function_responses()} - unconfirmed.keys()
        answered = {each for each in results if each not in self._long}
        self.calls = [each for each in self.calls if each["id"] not in answered]

    def end(self) -> Iterator[AgentEvent]:
        """Yield the rest of the answer of a run that waits or has ended."""
        is_over = self._has_output or self.calls
        last = [] if is_over else [each for said in self._last.values() for each in said]
        for each in last:
            if isinstance(each, TextDelta):
                yield from self._speech.accept(_LAST, each.text)
        yield from self._speech.end()
        yield from self._drawn if self.calls else ()
        yield from (each for each in last if not isinstance(each, TextDelta))

    def usage(self) -> Iterator[AgentEvent]:
        """Yield the tokens of the run."""
        given, made, total = self._usage
        if total:
            yield TaskMetadata(TokenUsage(given, made, total).as_metadata())

    def _chunk(self, event: Event, text: str) -> Iterator[AgentEvent]:
        if text and event.author in self._speakers:
            speaker = _speaker(event)
            if speaker not in self._speaking:
                self._speaking.add(speaker)
                self._find_guards()
            yield from self._begin(speaker)
            yield from self._speech.add(speaker, text)

    def _begin(self, speaker: _Speaker) -> Iterator[AgentEvent]:
        """Withdraw what an agent has said if it failed, and is run again."""
        if speaker in self._failed:
            self._failed.remove(speaker)
            yield from self._speech.withdraw(speaker)

    def _find_guards(self) -> None:
        """Hold text back if callbacks may change it, which may be added during the run."""
        if not self._is_held and is_guarded(self._runner):
            self._is_held = True
            self._speech.hold(until_end=False)

    def _message(self, event: Event, text: str) -> Iterator[AgentEvent]:
        """Yield the end of a message, whose text may differ from what was streamed."""
        if event.author not in self._speakers:
            yield from self._aside(event, text)
            return
        speaker = _speaker(event)
        self._speaking.discard(speaker)
        if event.error_code and not text:
            self._failed.add(speaker)  # what it said so far ends with the run
            return
        if text:
            self._say_last(event, [])
            yield from self._begin(speaker)
        yield from self._speech.accept(speaker, text)

    def _aside(self, event: Event, text: str) -> Iterator[AgentEvent]:
        """Keep the text of another agent, which may be a draft that is replaced later."""
        schema = self._schemas.get(event.author)
        said = _structured(text, schema) if text and schema else text and TextDelta(text)
        files = [] if event.author in self._answering else list(_files(_parts(event)))
        if (said or files) and event.author not in self._helpers:
            self._say_last(event, [*([said] if said else []), *files])
            self._drawn += [Output([*_in_order(_parts(event))])] if files else []
        if text and not schema and self._wants_progress:
            yield Progress(f"finished: {event.author}", {"agent": event.author})

    def _say_last(self, event: Event, said: list[AgentEvent]) -> None:
        """Replace what was said last, except that of members who run in parallel."""
        member = self._members.get(event.author, "")
        others = {name: last for name, last in self._last.items() if name not in {member, ""}}
        self._last = {**(others if member else {}), member: said}

    def _output(self, event: Event) -> Iterator[AgentEvent]:
        """Yield the output of a workflow; those of its inner nodes are not the answer."""
        paths = event.node_info.output_for or [event.node_info.path]
        if all("/" in path for path in paths):
            return
        if isinstance(event.output, str):
            yield from self._speech.accept(_speaker(event), event.output)
        elif output := as_output(event.output, schema=_described(self._schemas.get(event.author))):
            yield output
        self._has_output = True

    def _tool_events(self, event: Event, parts: list[GenaiPart]) -> Iterator[AgentEvent]:
        unconfirmed = event.actions.requested_tool_confirmations
        for part in parts:
            if (call := part.function_call) and call.name not in ASKING:
                arguments = None if changes_calls(self._runner, event.author) else call.args
                yield from self._tools.started(call.id or "", call.name or "", arguments)
            if (result := part.function_response) and result.id not in unconfirmed:
                response = result.response or {}
                yield from self._tools.finished(
                    result.id or "",
                    response.get("result", response),
                    name=result.name or "",
                    is_error=set(response) == {"error"},
                )

    def _count(self, usage: GenerateContentResponseUsageMetadata | None) -> None:
        if usage is not None:
            counts = (
                usage.prompt_token_count,
                usage.candidates_token_count,
                usage.total_token_count,
            )
            self._usage = [
                known + (new or 0) for known, new in zip(self._usage, counts, strict=True)
            ]


def _parts(event: Event) -> list[GenaiPart]:
    """Return the parts of an event, of which a content filter leaves nothing."""
    return (not is_filter(event.error_code) and event.content and event.content.parts) or []


def _speaker(event: Event) -> _Speaker:
    return event.author, event.branch or ""


def _text(parts: list[GenaiPart]) -> str:
    return "".join(part.text for part in parts if part.text and not part.thought)


def _without_questions(event: Event, text: str) -> str:
    """Return the text of an event without the question that its call for input repeats."""
    for call in event.get_function_calls():
        if call.name == INPUT and (asked := (call.args or {}).get("message")):
            text = text.removesuffix(asked).removesuffix("\n")
    return text


def _thoughts(parts: list[GenaiPart]) -> Iterator[AgentEvent]:
    for part in parts:
        if part.thought and part.text:
            yield Progress(part.text, {"kind": "thought"})


def _passages(parts: list[GenaiPart]) -> list[tuple[str, list[GenaiPart]]]:
    """Return the texts of a message, each with the files that follow it."""
    passages: list[tuple[str, list[GenaiPart]]] = [("", [])]
    for part in parts:
        said, files = passages[-1]
        if part.inline_data or part.file_data:
            files.append(part)
        elif (text := _text([part])) and files:
            passages.append((text, []))
        else:
            passages[-1] = (said + text, files)
    return passages


def _files(parts: list[GenaiPart]) -> Iterator[Output]:
    for part in parts:
        if file := _file(part):
            yield Output([file])


def _file(part: GenaiPart) -> File | None:
    """Return the file of a part, if it has one."""
    if blob := part.inline_data:
        return as_file(blob.data, blob.mime_type, blob.display_name)
    if linked := part.file_data:
        url, media_type = linked.file_uri, linked.mime_type or ""
        return File(url=url, media_type=media_type, filename=linked.display_name or "")
    return None


def _in_order(parts: list[GenaiPart]) -> Iterator[Text | File]:
    """Yield the text and the files of a message."""
    for part in parts:
        if file := _file(part):
            yield file
        elif text := _text([part]):
            yield Text(text)


def as_file(content: bytes | None, media_type: str | None, filename: str | None) -> File:
    """Return bytes of the framework as a file."""
    return File(content=content or b"", media_type=media_type or "", filename=filename or "")


def _structured(text: str, schema: object) -> AgentEvent | None:
    """Return an answer as data with its schema, or as text if the model did not write JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        return TextDelta(text)
    return as_output(value, schema=_described(schema))


def _described(schema: object) -> dict[str, Any] | None:
    """Return the JSON schema of an `output_schema`."""
    if schema is None or isinstance(schema, dict):
        return schema
    return TypeAdapter(schema).json_schema()
