"""Reads the answer of a run, and what precedes a question, from the last state of its graph.

| the graph's output has    | the answer is                                                        |
|---------------------------|----------------------------------------------------------------------|
| `structured_response`     | that, as data with its schema                                        |
| messages                  | the task's last message, and those that other nodes wrote beside it: |
|                           | their text, unless it was streamed, and files                        |
| other keys                | those that the task has written; a single text is sent as text       |
"""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.types import StateSnapshot

from a2a_adapters import AgentEvent, File, Output, Part, Text
from a2a_adapters_langchain.serving.content import (
    MESSAGES,
    calls_of,
    has_text_behind_files,
    is_message_list,
    outputs,
    spoken,
)
from a2a_adapters_langchain.serving.progress import messages_in

if TYPE_CHECKING:
    from a2a_adapters_langchain.serving.graph_run import GraphRun
    from a2a_adapters_langchain.serving.schema import Schema
    from a2a_adapters_langchain.serving.transcript import TaskSoFar, Transcript

_STRUCTURED = "structured_response"
"""The key of an agent's structured answer."""

FILES = "files"
"""The key of the files in a graph's state, as in deepagents."""


class GraphResult:
    """Reads the answer from the last state of a graph.

    Args:
        channels: The keys of the state that are the output; None for all.
        schema: The schema of the output; empty if it is unknown.
        output: Makes the answer from the output, in place of the rules above.
        files: Patterns for the paths of files in the state that are artifacts.
    """

    def __init__(
        self,
        channels: str | Sequence[str] | None,
        schema: Schema,
        output: Callable[[Any], object] | None,
        files: Collection[str],
    ) -> None:
        self._channels = channels
        self._schema = schema
        self._output = output
        self._patterns = files

    def preceding(
        self,
        run: GraphRun,
        state: StateSnapshot,
        *,
        shows_outer: bool = True,
        shows_inner: bool = True,
    ) -> Sequence[AgentEvent]:
        """Return what precedes a question: corrected text, messages not sent yet, and new files.

        Args:
            run: The run.
            state: The state of the graph.
            shows_outer: Whether text that is held is shown if nodes of the graph have ended.
            shows_inner: Whether also if nodes of graphs within the graph have.
        """
        inner = [*_inner_values(state)]
        proofs = [*([self._proofs(run)] if shows_outer else ()), *(inner if shows_inner else ())]
        shown = {id(message) for each in proofs for message in messages_in(each)}
        whole = [*self._whole(run, inner)]
        run.transcript.hold(message for message, _ in whole if id(message) not in shown)
        if not proofs:
            return self._new_files(run)
        waiting = tuple(f"{task.name}:{task.id}" for task in state.tasks)
        ended = [each for each in whole if id(each[0]) in shown]
        return [*run.transcript.pause(proofs, waiting, ended), *self._new_files(run)]

    def _whole(
        self, run: GraphRun, inner: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[BaseMessage, list[Part]]]:
        """Yield the messages that a question needs, see `GraphRun.unsent`."""
        if self._output or isinstance(self._channels, str) or not isinstance(run.values, Mapping):
            return
        state = self._state(run.values)
        if spoken(run.values) and not spoken(state):
            return  # the graph keeps its messages to itself
        messages, last = [*run.new_messages(state)], [*run.last_messages(state)]
        known = {each.id for each in messages_in(run.values)}
        for values in inner:
            new = _behind_known(values, known)
            known.update(each.id for each in new)
            messages += new
            last += new[-1:]
        yield from run.unsent(messages, {id(each) for each in last})

    def so_far(self, run: GraphRun) -> TaskSoFar:
        """Return the runs of a task up to a question."""
        return run.so_far(self._proofs(run))

    def events(self, run: GraphRun) -> Sequence[AgentEvent]:
        """Return the rest of the answer and the new files."""
        run.transcript.settle(self._proofs(run, is_final=True))
        answer = self._answer(run)
        run.transcript.arrange()
        return [*run.transcript.corrected(answer), *self._new_files(run)]

    def _answer(self, run: GraphRun) -> Sequence[AgentEvent]:
        values = run.values
        if isinstance(self._channels, str) or not isinstance(values, Mapping):
            value = self._output(values) if self._output else _messages_or(values)
            return self._unless_sent(value, run.transcript)
        state = self._state(values)
        if self._output:
            return outputs(self._output(state))
        properties = self._schema.get("properties", {})
        if (structured := state.get(_STRUCTURED)) is not None:
            schema = properties.get(_STRUCTURED)
            definitions = {"$defs": self._schema.get("$defs", {})}
            return outputs(structured, {**schema, **definitions} if schema else None)
        if last := run.last_messages(state):
            return _messages_events(last, run.transcript, run.new_messages(state))
        made = {
            key: value
            for key, value in state.items()
            if run.has_made(key, value) and not _holds_messages(key, value)
        }
        if len(made) == 1:
            (value,) = made.values()
            if isinstance(value, str | BaseMessage):
                return self._unless_sent(value, run.transcript)
        said = run.transcript
        new = {key: value for key, value in made.items() if not _is_sent(value, said)}
        is_complete = new.keys() == properties.keys()
        return outputs(new, self._schema if is_complete else None) if new else []

    def _state(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the output of a graph."""
        channels = values if self._channels is None else self._channels
        hidden = {FILES} if self._patterns else set()
        return {key: values[key] for key in channels if key in values and key not in hidden}

    def _proofs(self, run: GraphRun, *, is_final: bool = False) -> object:
        """Return the parts of the state that may contain the messages of the answer."""
        values = run.values
        if isinstance(self._channels, str) or not isinstance(values, Mapping):
            result = _messages_or(values)
            return result if not is_final or _is_text(result) else ()
        state = self._state(values)
        others = _texts(state) if is_final and not self._output else state
        if not (key := spoken(state)):
            return others
        messages = run.new_messages(state)
        if run.is_guarded or (is_final and run.speaks and run.last_message(state)):
            return messages
        # Those that the answer is from come last: what another key has under their ids is a copy.
        return {**{name: each for name, each in others.items() if name != key}, key: messages}

    def _new_files(self, run: GraphRun) -> list[Output]:
        """Return an artifact, named by its path, for each selected file that has changed."""
        if not self._patterns:
            return []
        before, now = _files(run.first_values), _files(run.values)
        return [
            Output([_file(path, record)], name=path)
            for path, record in now.items()
            if record != before.get(path) and any(fnmatchcase(path, p) for p in self._patterns)
        ]

    def _unless_sent(self, value: object, transcript: Transcript) -> Sequence[AgentEvent]:
        if is_message_list(value):
            value = value[-1]
        if isinstance(value, BaseMessage):
            return _messages_events([value], transcript)
        if isinstance(value, str):
            return _text_events(value, transcript)
        return outputs(value, None if self._output else self._schema)


def _holds_messages(key: str, value: object) -> bool:
    return is_message_list(value) or (key == MESSAGES and value == [])  # all were removed


def _messages_or(result: object) -> object:
    """Return the messages in the result of a workflow; the result if it has none."""
    messages = result.get(MESSAGES) if isinstance(result, Mapping) else None
    return messages if is_message_list(messages) else result


def _is_text(value: object) -> bool:
    """Whether a value is sent as text; texts in lists and mappings are sent as data."""
    return isinstance(value, str | BaseMessage) or is_message_list(value)


def _texts(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the texts of a state."""
    return {key: each for key, each in state.items() if _is_text(each)}


def _is_sent(value: object, transcript: Transcript) -> bool:
    return isinstance(value, str) and transcript.has_said(value)


def _text_events(text: str, transcript: Transcript) -> Sequence[AgentEvent]:
    return transcript.say(text) if transcript.has_text else outputs(text)


def _messages_events(
    messages: Sequence[BaseMessage],
    transcript: Transcript,
    new: Sequence[BaseMessage] = (),
) -> Sequence[AgentEvent]:
    """Return the events of the messages that are the answer.

    Args:
        messages: The messages.
        transcript: The text that was streamed.
        new: All messages of the task.
    """
    others = [each for each in messages if not any(each is known for known in new)]
    unsent = {id(each): parts for each, parts in transcript.sent.unsent([*new, *others])}
    for message in messages:
        unsent[id(message)] += calls_of(message)
    late = transcript.held(new)
    if len(messages) == 1 and not (late or transcript.has_text):
        return outputs(unsent[id(messages[0])] or None)
    for message in late:
        transcript.send_late(message, unsent.pop(id(message)))
    said: list[AgentEvent] = []
    extras: list[AgentEvent] = []
    is_behind_files = False
    for message in (each for each in messages if id(each) in unsent):
        parts = unsent[id(message)]
        is_new = not transcript.is_earlier(message.id)
        is_behind_files = is_behind_files or (is_new and has_text_behind_files(parts))
        if is_behind_files and is_new:
            transcript.take_out(message)
        else:
            said += transcript.say(str(message.text), message.id)
            parts = [part for part in parts if not isinstance(part, Text)]
        extras += outputs(parts or None)
    return [*said, *extras]


def _inner_values(state: StateSnapshot) -> Iterator[Mapping[str, Any]]:
    """Yield the states of the graphs within a graph that have not ended, the outer ones first."""
    for inner in (task.state for task in state.tasks):
        if isinstance(inner, StateSnapshot):
            if isinstance(inner.values, Mapping):
                yield inner.values
            yield from _inner_values(inner)


def _behind_known(values: Mapping[str, Any], known: Collection[str | None]) -> list[BaseMessage]:
    """Return the messages of an inner graph behind those of its caller and of earlier runs."""
    messages: list[BaseMessage] = values.get(spoken(values), [])
    given = [
        place
        for place, message in enumerate(messages, 1)
        if isinstance(message, HumanMessage) or message.id in known
    ]
    return messages[given[-1] :] if given else messages


def _files(values: Any) -> Mapping[str, Any]:
    files = values.get(FILES) if isinstance(values, Mapping) else None
    return files if isinstance(files, Mapping) else {}


def _file(path: str, record: Any) -> File:
    """Convert a file of the state: a string, or an object whose `content` is text or lines."""
    is_binary = isinstance(record, Mapping) and record.get("encoding") == "base64"
    content = record["content"] if isinstance(record, Mapping) else record
    text = content if isinstance(content, str) else "\n".join(content)
    guess, _ = mimetypes.guess_type(path)
    return File(
        content=base64.b64decode(text) if is_binary else text.encode("utf-8", "replace"),
        filename=PurePosixPath(path).name,
        media_type=guess or ("application/octet-stream" if is_binary else "text/plain"),
    )
