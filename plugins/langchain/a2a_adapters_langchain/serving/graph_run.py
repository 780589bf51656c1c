"""Converts one run of a graph to events: its stream, and the rest of the answer from its state.

| the graph's output has    | the answer is                                                        |
|---------------------------|----------------------------------------------------------------------|
| `structured_response`     | that, as data with its schema                                        |
| messages                  | the task's last message, and those that other nodes wrote beside it: |
|                           | their text, unless it was streamed, and files                        |
| other keys                | those that the task has written; a single text is sent as text       |
"""

from __future__ import annotations

import base64
import functools
import mimetypes
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langgraph.types import StateSnapshot

from a2a_adapters import AgentEvent, File, InputRequired, Output, Part, Text
from a2a_adapters_langchain.serving.checked import checked_stream
from a2a_adapters_langchain.serving.content import (
    calls_of,
    has_text_behind_files,
    is_message_list,
    is_of_model,
    outputs,
)
from a2a_adapters_langchain.serving.progress import INTERRUPT, messages_in
from a2a_adapters_langchain.serving.transcript import TaskSoFar, Transcript
from a2a_adapters_langchain.serving.watch import TASK

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from a2a_adapters_langchain.serving.answer_nodes import IsAnswer
    from a2a_adapters_langchain.serving.progress import GraphProgress, Namespace
    from a2a_adapters_langchain.serving.recovery import RunStart
    from a2a_adapters_langchain.serving.schema import Schema


_INTERNAL_CALL = "lc_internal_call"
"""Key in the metadata of a model call that a middleware makes for itself."""

_OF_MODEL = "ls_model_type"
"""Key in the metadata of chunks that a model writes; nodes may also return messages as chunks."""

FILES = "files"
"""The key of the files in a graph's state, as in deepagents."""


class _Write(NamedTuple):
    """The messages that a task has written; `speaks` if its node can be the last."""

    node: str
    speaks: bool
    messages: list[BaseMessage]

    def without(self, known: Collection[str | None]) -> _Write:
        """Leave out the messages that the state has already, and those that remove others."""
        new = [each for each in self.messages if each.id not in known]
        return self._replace(messages=[m for m in new if not isinstance(m, RemoveMessage)])


class GraphRun:
    """One run: converts its stream to events.

    Args:
        start: The start of the run.
        is_answer: Selects the tasks whose tokens are the answer; None selects none.
        progress: Converts the progress, for clients that follow it.
        is_structured: Whether the text of a task is structured output. That is held back, because
            it may prove invalid; the graph's result contains it.
        earlier: The earlier runs of the task.
        keeps_all: Whether all that is streamed is part of the answer, see `Transcript`.
        is_guarded: Whether guardrails may have refused messages, see `Transcript`.
        is_held: Whether text waits for the end of the run.
        is_checked: Whether the graph's middleware checks its stream.
        guarding_nodes: The nodes with which guardrails inspect messages.
        may_replace: Whether what a node says may be replaced by what another one says later.
        precedes: Whether messages of a task that the graph has finished are sent with questions.
        answers: Whether the text of a task is the answer, also if none is streamed.

    Attributes:
        transcript: The messages of the answer.
        values: The graph's last state.
        first_values: Its state at the beginning of the run.
        is_guarded: Whether guardrails may have refused messages.
        is_paused: Whether the graph asks its caller.
        complaint: The problem of a reply that the graph refused.
        speaks: Whether the node that has written the last message can be the last.
    """

    def __init__(  # noqa: PLR0913 - a choice each
        self,
        start: RunStart,
        is_answer: IsAnswer | None,
        progress: GraphProgress | None,
        is_structured: Callable[[str], bool] = lambda _: False,
        *,
        earlier: TaskSoFar | None = None,
        keeps_all: bool = False,
        is_guarded: bool = False,
        is_held: bool = False,
        is_checked: bool = False,
        guarding_nodes: Collection[str] = (),
        may_replace: Callable[[str, str], bool] = lambda *_: True,
        precedes: IsAnswer = lambda _: True,
        answers: IsAnswer | None = None,
    ) -> None:
        self._is_checked = is_checked
        self._guarding_nodes = guarding_nodes
        self.is_guarded = is_guarded
        self.earlier = earlier or TaskSoFar()
        self.transcript = Transcript(
            self.earlier,
            keeps_all=keeps_all,
            is_guarded=is_guarded,
            is_held=is_held,
            endings=self._endings,
        )
        self.values = start.values
        self.first_values = start.first_values
        self.is_paused = False
        self.complaint = ""
        self.speaks = True
        self._given = start.given
        self._written = start.written() if start.finished else set()
        self._is_answer = functools.cache(is_answer) if is_answer else None
        self._is_structured = is_structured
        self._held: dict[str, list[str]] = {}
        self._progress = progress
        self._may_replace = may_replace
        self._precedes = precedes
        self._answers = answers or is_answer or (lambda _: False)
        self._made = [
            (f"{task.name}:{task.id}", message)
            for task in start.finished
            for message in messages_in(task.result)
            if isinstance(message, AIMessage)
        ]
        """The paths of tasks, and the messages that they have made in the role of a model."""
        self._steps: list[list[_Write]] = [[]]
        """What the tasks of each step have written."""

    async def events(
        self,
        graph: Any,
        config: RunnableConfig,
        read: Callable[[str, Any], Any] | None = None,
        **options: Any,
    ) -> AsyncGenerator[AgentEvent]:
        """Run a graph and yield the events to send at once.

        Args:
            graph: The graph.
            config: The run's configuration.
            read: Parses the data that a remote graph streams, given its mode.
            options: Options of the graph's `astream`.
        """
        if self._is_checked:
            steps = checked_stream(graph, self._given, config, options)
        else:
            modes = ["updates", "values"]
            modes += ["messages"] if self._is_answer else []
            modes += ["custom"] if self._progress else []
            options |= {"stream_mode": modes, "subgraphs": True}
            steps = graph.astream(self._given, config, **options)
        async with aclosing(steps):
            async for namespace, mode, streamed in steps:
                data = read(mode, streamed) if read else streamed
                if mode != "messages":
                    for event in self._step(namespace, mode, data):
                        yield event
                elif read or self._is_checked or _OF_MODEL in data[1]:
                    for event in self._token(*data):
                        yield event
        if self._progress and not self.is_paused:
            for news in self._progress.rest():
                yield news

    def _token(self, message: object, metadata: Mapping[str, Any]) -> Sequence[AgentEvent]:
        if not isinstance(message, AIMessageChunk) or _INTERNAL_CALL in metadata:
            return ()
        task = metadata[TASK]
        if not (self._is_answer and self._is_answer(task)):
            return ()
        content = message.content
        text = content if type(content) is str else str(message.text)
        if self._is_structured(task):
            text = self._hold(task, text, message)
        is_last = message.chunk_position is not None
        return self.transcript.add(task, message.id or task, text, is_last=is_last)

    def _hold(self, task: str, text: str, chunk: AIMessageChunk) -> str:
        """Hold text back until its message calls a tool, which structured output never does."""
        held = self._held.setdefault(task, [])
        held.append(text)
        text = "".join(held) if chunk.tool_call_chunks else ""
        if text or chunk.chunk_position:
            held.clear()
        return text

    def _step(self, namespace: Namespace, mode: str, data: Any) -> Iterator[AgentEvent]:
        if mode == "values":
            if not namespace and not (isinstance(data, Mapping) and INTERRUPT in data):
                if self.values is None and isinstance(data, Mapping):
                    self.first_values = data
                self.values = data
                self._steps.append([])
        elif mode == "updates":
            if not namespace:
                self._note_updates(data)
            self._note_messages(namespace, data)
            if self._progress:
                yield from self._progress.updates(namespace, data)
        elif self._progress:
            yield self._progress.custom(data)

    def _note_updates(self, updates: Mapping[str, Any]) -> None:
        self.is_paused = self.is_paused or INTERRUPT in updates
        for node, update in updates.items():
            if messages := [*messages_in(update)]:
                self.speaks = self._is_answer is None or self._is_answer(node)
                self._steps[-1].append(_Write(node, self.speaks, messages))
            for written in update if isinstance(update, list) else [update]:
                if isinstance(written, Mapping):
                    self._written |= written.keys()

    def _endings(self) -> set[str]:
        """Return the ids of the last messages of tasks that no later one may have replaced.

        There are several if nodes run beside one another.
        """
        known = {message.id for message in messages_in(self.first_values)}
        steps = []
        for step in self._steps:
            steps.append([new for each in step if (new := each.without(known)).messages])
            known.update(message.id for each in step for message in each.messages)
        endings: set[str] = set()
        later: set[str] = set()
        for step in reversed(steps):
            for node, speaks, messages in step:
                last = messages[-1].id
                if speaks and last and not any(self._may_replace(node, each) for each in later):
                    endings.add(last)
            later.update(each.node for each in step)
        return endings

    def _note_messages(self, namespace: Namespace, updates: Mapping[str, Any]) -> None:
        for node, update in updates.items():
            path = "|".join((*namespace, node))
            for message in messages_in(update):
                if isinstance(message, AIMessage):
                    self._made.append((path, message))
                elif isinstance(message, RemoveMessage):
                    self.transcript.remove(message.id)
                elif isinstance(message, ToolMessage):
                    self._note_answer(node, message.tool_call_id)

    def _note_answer(self, node: str, call_id: str) -> None:
        if node not in self._guarding_nodes:
            self.transcript.called.add(call_id)
        elif call_id not in self.transcript.called and call_id not in _answered(self.first_values):
            self.transcript.refuse(call_id)

    def preceding(
        self, messages: Sequence[BaseMessage], last: Collection[int]
    ) -> Iterator[tuple[BaseMessage, list[Part]]]:
        """Yield the messages that a question needs, and what of each was not sent, in order.

        These are messages with files or data, and the last ones, unless they are what a model has
        said whose text is not the answer.

        Args:
            messages: The messages of the task.
            last: The identities of the last ones.
        """
        paths = {message.id: path for path, message in self._made if message.id}
        for message, parts in self.transcript.sent.unsent(messages):
            path = paths.get(message.id or "", "")
            if not isinstance(message, AIMessage) or not self._precedes(path):
                continue
            is_last = id(message) in last and (self._answers(path) or not is_of_model(message))
            if is_last or not all(isinstance(part, Text) for part in parts):
                yield message, parts

    def so_far(self, proofs: object) -> TaskSoFar:
        """Return the runs of the task up to now, for a question; see `Transcript`."""
        return self.transcript.so_far(self.first_values, self._written, proofs)

    def has_made(self, key: str, value: object) -> bool:
        """Whether the task wrote a key of the state, other than its own input."""
        is_input = isinstance(self._given, Mapping) and value is self._given.get(key)
        return (key in self._written or key in self.earlier.written) and not is_input

    def new_messages(self, key: str, messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
        """Leave out the messages that a list had before the task."""
        before = self.earlier.before.get(key)
        first = self.first_values.get(key)
        if not self.earlier.has_begun and is_message_list(first):
            before = first[-1].id
        ids = [message.id for message in messages]
        is_known = before is not None and before in ids
        return messages[ids.index(before) + 1 :] if is_known else messages

    def last_messages(self, key: str, messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
        """Return the last message of a list, if the task made it, and those written beside it.

        A message from a cache has the id of an earlier one, whose place it takes.
        """
        if not (last := self.last_message(key, messages)):
            return self._repeated()
        endings = self._endings()
        return [
            each
            for each in messages
            if each is last or (each.id in endings and not isinstance(each, ToolMessage))
        ]

    def _repeated(self) -> Sequence[BaseMessage]:
        """Return the message that was written last, if it is an earlier one of a model again."""
        known = {each.id: each.content for each in messages_in(self.first_values)}
        said = [each.messages[-1] for step in self._steps for each in step if each.speaks]
        last = said[-1] if said else None
        if isinstance(last, AIMessage) and known.get(last.id) == last.content:
            return [last]
        return ()

    def last_message(self, key: str, messages: Sequence[BaseMessage]) -> BaseMessage | None:
        """Return the last message of a list, if the task made it."""
        last = messages[-1]
        if (before := self.earlier.before.get(key)) is not None:
            return None if last.id == before else last
        lists = self.first_values.get(key)
        if self.earlier.has_begun or not is_message_list(lists):
            return last
        known = lists[-1]
        is_known = last is known or (last.id is not None and last.id == known.id)
        return None if is_known else last


def _answered(values: object) -> set[str]:
    """Return the ids of the tool calls that a state has answers to."""
    messages = messages_in(values)
    return {each.tool_call_id for each in messages if isinstance(each, ToolMessage)}


_STRUCTURED = "structured_response"
_MESSAGES = "messages"


def _holds_messages(key: str, value: object) -> bool:
    return is_message_list(value) or (key == _MESSAGES and value == [])  # all were removed


def _spoken(state: Mapping[str, Any]) -> str:
    """Return the key of the messages that contain the answer; "" if a state has none."""
    lists = [key for key, value in state.items() if is_message_list(value)]
    return _MESSAGES if _MESSAGES in lists else next(iter(lists), "")


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

    def pause(
        self,
        run: GraphRun,
        state: StateSnapshot,
        *,
        shows_held: bool = False,
        shows_inner: bool = False,
    ) -> Sequence[AgentEvent]:
        """Return what precedes a question: the corrected text, and messages that were not sent.

        Args:
            run: The run.
            state: The state of the graph.
            shows_held: Whether to return text that was held, of nodes that have ended.
            shows_inner: Whether those are also nodes of graphs within the graph.
        """
        waiting = tuple(f"{task.name}:{task.id}" for task in state.tasks)
        inner = [*_inner_values(state)]
        whole = [*self._preceding(run, inner)]
        if shows_inner or not run.transcript.is_held:
            waiting = () if shows_inner else waiting
            return run.transcript.pause([self._proofs(run), *inner], waiting, whole)
        outer = {id(each) for each in messages_in(run.values)} if shows_held else ()
        run.transcript.hold(each for each, _ in whole if id(each) not in outer)
        if not shows_held:
            return []
        ended = [each for each in whole if id(each[0]) in outer]
        return run.transcript.pause(self._proofs(run), waiting, ended)

    def _preceding(
        self, run: GraphRun, inner: Sequence[Mapping[str, Any]]
    ) -> Iterable[tuple[BaseMessage, list[Part]]]:
        """Return the whole messages that precede a question, see `GraphRun.preceding`."""
        if self._output or isinstance(self._channels, str) or not isinstance(run.values, Mapping):
            return ()
        state = self._state(run.values)
        if _spoken(run.values) and not _spoken(state):
            return ()  # the graph keeps its messages to itself
        messages, last = [*self._new_messages(run, state)], [*self._last_messages(run, state)]
        known = {each.id for each in messages_in(run.values)}
        for values in inner:
            new = _behind_known(values, known)
            known.update(each.id for each in new)
            messages += new
            last += new[-1:]
        return run.preceding(messages, {id(each) for each in last})

    def so_far(self, run: GraphRun) -> TaskSoFar:
        """Return the runs of a task up to a question."""
        return run.so_far(self._proofs(run))

    def events(self, run: GraphRun, asked: InputRequired | None = None) -> Sequence[AgentEvent]:
        """Return the new files and the question, or the rest of the answer and the new files."""
        files = self._new_files(run)
        if asked:
            return [*files, asked]
        run.transcript.settle(self._proofs(run, is_final=True))
        answer = self._answer(run)
        run.transcript.arrange()
        return [*run.transcript.corrected(answer), *files]

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
        if last := self._last_messages(run, state):
            return _messages_events(last, run.transcript, self._new_messages(run, state))
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

    def _new_messages(self, run: GraphRun, state: Mapping[str, Any]) -> Sequence[BaseMessage]:
        """Return the messages of the task."""
        key = _spoken(state)
        return run.new_messages(key, state[key]) if key else ()

    def _last_messages(self, run: GraphRun, state: Mapping[str, Any]) -> Sequence[BaseMessage]:
        """Return the messages that are the answer; none if the task has made none."""
        key = _spoken(state)
        return run.last_messages(key, state[key]) if key else ()

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
        if not (key := _spoken(state)):
            return _texts(state) if is_final and not self._output else state
        speaks = is_final and run.speaks and run.last_message(key, state[key]) is not None
        messages = run.new_messages(key, state.pop(key))
        # Those that the answer is from come last: what another key has under their ids is a copy.
        others = _texts(state) if is_final and not self._output else state
        return messages if speaks or run.is_guarded else {**others, key: messages}

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


def _messages_or(result: object) -> object:
    """Return the messages in the result of a workflow; the result if it has none."""
    messages = result.get(_MESSAGES) if isinstance(result, Mapping) else None
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
    held = transcript.held(new)
    found = _unsent_parts(messages, transcript, new)
    if len(messages) == 1 and not (held or transcript.has_text):
        return outputs(found[id(messages[0])] or None)
    for message in held:
        transcript.send_late(message, found[id(message)])
    said: list[AgentEvent] = []
    extras: list[AgentEvent] = []
    is_behind_files = False
    is_late = {id(each) for each in held}
    for message in (each for each in messages if id(each) not in is_late):
        parts = found[id(message)]
        is_new = not transcript.is_earlier(message.id)
        is_behind_files = is_behind_files or (is_new and has_text_behind_files(parts))
        if is_behind_files and is_new:
            transcript.take_out(message)
        else:
            said += transcript.say(str(message.text), message.id)
            parts = [part for part in parts if not isinstance(part, Text)]
        extras += outputs(parts or None)
    return [*said, *extras]


def _unsent_parts(
    messages: Sequence[BaseMessage], transcript: Transcript, new: Sequence[BaseMessage]
) -> dict[int, list[Part]]:
    """Return what was not sent of messages, by their identity, with the calls of the last ones."""
    others = [each for each in messages if not any(each is known for known in new)]
    unsent = transcript.sent.unsent([*new, *others])
    found = {id(message): parts for message, parts in unsent}
    for message in messages:
        found[id(message)] += calls_of(message)
    return found


def _inner_values(state: StateSnapshot) -> Iterator[Mapping[str, Any]]:
    """Yield the states of the graphs within a graph that have not ended, the outer ones first."""
    for inner in (task.state for task in state.tasks):
        if isinstance(inner, StateSnapshot):
            if isinstance(inner.values, Mapping):
                yield inner.values
            yield from _inner_values(inner)


def _behind_known(values: Mapping[str, Any], known: Collection[str | None]) -> list[BaseMessage]:
    """Return the messages of an inner graph behind those of its caller and of earlier runs."""
    messages: list[BaseMessage] = values.get(_spoken(values), [])
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
