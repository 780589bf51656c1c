"""One run of a graph: what its stream tells, and what its state adds to that at the end.

| the graph's output has    | the answer is                                                    |
|---------------------------|------------------------------------------------------------------|
| `structured_response`     | that, as data with its schema                                    |
| messages                  | the run's last message: its text, unless streamed, and its files |
| other keys                | those the run has written; a single text is sent as text         |
"""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage

from a2a_adapters import AgentEvent, File, InputRequired, Output, Speech, TargetError, TextDelta
from a2a_adapters_langchain.serving.content import message_extras
from a2a_adapters_langchain.serving.output import is_message_list, outputs
from a2a_adapters_langchain.serving.watch import TASK

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from a2a_adapters_langchain.serving.cutoff import CutOffRun
    from a2a_adapters_langchain.serving.progress import GraphNews, Namespace
    from a2a_adapters_langchain.serving.schema import Schema
    from a2a_adapters_langchain.serving.speakers import MaySpeak


FILES = "files"
"""The key of the files in a graph's state, as deepagents has it."""

_INTERRUPT = "__interrupt__"


class GraphRun:
    """Takes a run's stream and gives the events that are to be sent at once.

    Args:
        given: The graph's input.
        speech: Joins the messages.
        may_speak: Whether the tokens of a task, given by its path, are part of the answer; None
            if those of no task are.
        news: Takes what clients that follow the run want to know; None if nobody does.
        cut_off: The run of a process that is gone, with which this one goes on.
        is_structured: Whether a task's text is structured output. That is held back, since it may
            prove invalid; the graph's result has it.
    """

    def __init__(
        self,
        given: object,
        speech: Speech[str],
        may_speak: MaySpeak | None,
        *,
        news: GraphNews | None,
        cut_off: CutOffRun | None = None,
        is_structured: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.speech = speech
        self._may_speak = may_speak
        self._is_heard: dict[str, bool] = {}
        self._is_structured = is_structured
        self._held: dict[str, list[str]] = {}
        self.values: Any = cut_off.values if cut_off else None
        self.first_values: Mapping[str, Any] = cut_off.first_values if cut_off else {}
        self.is_paused = False
        self.complaint = ""
        self._news = news
        self._given = given
        self._written: set[str] = cut_off.written() if cut_off else set()

    async def events(
        self,
        graph: Any,
        config: RunnableConfig,
        read: Callable[[str, Any], Any] | None = None,
        **options: Any,
    ) -> AsyncGenerator[AgentEvent]:
        """Run a graph and yield what is to be sent at once.

        Args:
            graph: What runs.
            config: The run's configuration.
            read: Makes what the graph would stream here of what it streams elsewhere, by its mode.
            options: Options of the graph's `astream`.
        """
        modes = ["updates", "values"]
        modes += ["messages"] if self._may_speak else []
        modes += ["custom"] if self._news else []
        steps = graph.astream(self._given, config, stream_mode=modes, subgraphs=True, **options)
        async with aclosing(steps):
            async for namespace, mode, streamed in steps:
                data = read(mode, streamed) if read else streamed
                if mode == "messages":
                    if text := self._token(*data):
                        yield TextDelta(text)
                else:
                    for event in self._step(namespace, mode, data):
                        yield event

    def _token(self, message: object, metadata: Mapping[str, Any]) -> str:
        if not isinstance(message, AIMessageChunk):
            return ""
        task = metadata[TASK]
        if not self._hears(task):
            return ""
        content = message.content
        text = content if type(content) is str else str(message.text)
        if self._is_structured(task):
            text = self._hold(task, text, message)
        text = self.speech.add(task, text)
        return text + self.speech.end(task) if message.chunk_position else text

    def _step(self, namespace: Namespace, mode: str, data: Any) -> Iterator[AgentEvent]:
        if mode == "values":
            if not namespace:
                self._take_values(data)
        elif mode == "updates":
            if not namespace:
                self._take_updates(data)
            if self._news:
                yield from self._news.updates(namespace, data)
        elif self._news:
            yield self._news.custom(data)

    def rest(self) -> Iterator[TextDelta]:
        """Return text that waited for its turn."""
        if text := self.speech.rest():
            yield TextDelta(text)

    def has_made(self, key: str, value: object) -> bool:
        """Whether this run wrote a key of the state, and not only what it was given."""
        return key in self._written and not self._was_given(key, value)

    def _was_given(self, key: str, value: object) -> bool:
        return isinstance(self._given, Mapping) and value is self._given.get(key)

    def _hears(self, task: str) -> bool:
        if task not in self._is_heard:
            self._is_heard[task] = bool(self._may_speak and self._may_speak(task))
        return self._is_heard[task]

    def _hold(self, task: str, text: str, chunk: AIMessageChunk) -> str:
        """Hold text back until its message calls a tool, which structured output never does."""
        held = self._held.setdefault(task, [])
        held.append(text)
        text = "".join(held) if chunk.tool_call_chunks else ""
        if text or chunk.chunk_position:
            held.clear()
        return text

    def _take_values(self, values: Any) -> None:
        if isinstance(values, Mapping) and _INTERRUPT in values:
            return
        if self.values is None and isinstance(values, Mapping):
            self.first_values = values
        self.values = values

    def _take_updates(self, updates: Mapping[str, Any]) -> None:
        if _INTERRUPT in updates:
            self.is_paused = True
        for update in updates.values():
            for written in update if isinstance(update, list) else [update]:
                if isinstance(written, Mapping):
                    self._written |= written.keys()


_STRUCTURED = "structured_response"


class GraphResult:
    """Reads the answer from a graph's last state.

    Args:
        channels: What of the state is the output; None for all.
        schema: The output's schema, empty if it is not known.
        output: Makes the answer of the output state, in place of the rules above.
        files: Which files of the state are artifacts, by patterns of their paths.

    Raises:
        TargetError: The patterns are no list.
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
        if isinstance(files, str):
            raise TargetError(f"files takes a list of patterns: [{files!r}]")
        self._patterns = files

    def events(self, run: GraphRun, asked: InputRequired | None = None) -> Sequence[AgentEvent]:
        """Return the rest of the answer, or what the graph asks, and the files that it wrote."""
        files = self._new_files(run)
        return [*files, asked] if asked else [*self._answer(run), *files]

    def _answer(self, run: GraphRun) -> Sequence[AgentEvent]:
        values = run.values
        if isinstance(self._channels, str) or not isinstance(values, Mapping):
            return self._unless_said(self._output(values) if self._output else values, run.speech)
        channels = values if self._channels is None else self._channels
        hidden = {FILES} if self._patterns else set()
        state = {key: values[key] for key in channels if key in values and key not in hidden}
        if self._output:
            return outputs(self._output(state))
        if state.get(_STRUCTURED) is not None:
            return outputs(state[_STRUCTURED], self._property(_STRUCTURED))
        if lists := [key for key, value in state.items() if is_message_list(value)]:
            key = "messages" if "messages" in lists else lists[0]
            return _last_message(state[key], run.first_values.get(key), run.speech)
        made = {key: value for key, value in state.items() if run.has_made(key, value)}
        return self._made(made, run.speech)

    def _new_files(self, run: GraphRun) -> list[Output]:
        """Return an artifact for each wanted file that is new or changed, named by its path."""
        if not self._patterns:
            return []
        before, now = _files(run.first_values), _files(run.values)
        return [
            Output([_file(path, record)], name=path)
            for path, record in now.items()
            if record != before.get(path) and any(fnmatchcase(path, p) for p in self._patterns)
        ]

    def _made(self, made: Mapping[str, object], speech: Speech[str]) -> Sequence[AgentEvent]:
        if len(made) == 1:
            (value,) = made.values()
            if isinstance(value, str | BaseMessage):
                return self._unless_said(value, speech)
        new = {key: value for key, value in made.items() if not _is_said(value, speech)}
        is_complete = new.keys() == self._schema.get("properties", {}).keys()
        return outputs(new, self._schema if is_complete else None) if new else []

    def _unless_said(self, value: object, speech: Speech[str]) -> Sequence[AgentEvent]:
        if isinstance(value, BaseMessage):
            return _message_events(value, speech)
        return (
            _text_events(value, speech) if isinstance(value, str) else outputs(value, self._schema)
        )

    def _property(self, name: str) -> Schema | None:
        schema = self._schema.get("properties", {}).get(name)
        return {**schema, "$defs": self._schema.get("$defs", {})} if schema else None


def _is_said(value: object, speech: Speech[str]) -> bool:
    return isinstance(value, str) and speech.has_said(value)


def _last_message(
    messages: Sequence[object], before: object, speech: Speech[str]
) -> Sequence[AgentEvent]:
    """Return the last message of the run, if it made one, as far as it was not streamed."""
    last_before = before[-1] if is_message_list(before) else None
    for message in reversed(messages):
        if last_before and _is_same(message, last_before):
            break
        if isinstance(message, AIMessage | ToolMessage):
            return _message_events(message, speech)
    return []


def _is_same(message: object, other: BaseMessage) -> bool:
    if message is other:
        return True
    return isinstance(message, BaseMessage) and message.id is not None and message.id == other.id


def _text_events(text: str, speech: Speech[str]) -> list[AgentEvent]:
    if not speech:
        return [*outputs(text)]
    new = "" if speech.has_said(text) else speech.end("", text)
    return [TextDelta(new)] if new else []


def _message_events(message: BaseMessage, speech: Speech[str]) -> Sequence[AgentEvent]:
    if not speech:
        return outputs(message)
    extras = message_extras(message)
    return [*_text_events(str(message.text), speech), *(outputs(extras) if extras else [])]


def _files(values: Any) -> Mapping[str, Any]:
    files = values.get(FILES) if isinstance(values, Mapping) else None
    return files if isinstance(files, Mapping) else {}


def _file(path: str, record: Any) -> File:
    """Return a file: a string, or an object with `content`, whose lines may be a list."""
    is_binary = isinstance(record, Mapping) and record.get("encoding") == "base64"
    content = record["content"] if isinstance(record, Mapping) else record
    text = content if isinstance(content, str) else "\n".join(content)
    guess, _ = mimetypes.guess_type(path)
    return File(
        content=base64.b64decode(text) if is_binary else text.encode("utf-8", "replace"),
        filename=PurePosixPath(path).name,
        media_type=guess or ("application/octet-stream" if is_binary else "text/plain"),
    )
