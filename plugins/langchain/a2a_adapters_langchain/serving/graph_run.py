"""Converts one run of a graph to events, and notes what its answer is read from."""

from __future__ import annotations

import functools
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    RemoveMessage,
    ToolMessage,
)

from a2a_adapters import AgentEvent, Part, Text
from a2a_adapters_langchain.serving.checked import checked_stream
from a2a_adapters_langchain.serving.content import (
    is_message_list,
    is_of_model,
    spoken,
)
from a2a_adapters_langchain.serving.progress import INTERRUPT, messages_in
from a2a_adapters_langchain.serving.transcript import TaskSoFar, Transcript
from a2a_adapters_langchain.serving.watch import TASK

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from a2a_adapters_langchain.serving.answer_nodes import IsAnswer
    from a2a_adapters_langchain.serving.progress import GraphProgress, Namespace
    from a2a_adapters_langchain.serving.recovery import RunStart


_INTERNAL_CALL = "lc_internal_call"
"""Key in the metadata of a model call that a middleware makes for itself."""

_OF_MODEL = "ls_model_type"
"""Key in the metadata of chunks that a model writes; nodes may also return messages as chunks."""


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
        answers: Selects the tasks whose text is the answer, also if none is streamed.
        has_chosen: Whether other tasks have no part in the answer.

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
        answers: IsAnswer | None = None,
        has_chosen: bool = False,
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
        self._answers = answers or is_answer or (lambda _: False)
        self._has_chosen = has_chosen
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

    def unsent(
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
            is_answer = self._answers(paths.get(message.id or "", ""))
            if not isinstance(message, AIMessage) or (self._has_chosen and not is_answer):
                continue
            is_last = id(message) in last and (is_answer or not is_of_model(message))
            if is_last or not all(isinstance(part, Text) for part in parts):
                yield message, parts

    def so_far(self, proofs: object) -> TaskSoFar:
        """Return the runs of the task up to a question; see `Transcript.digests`."""
        earlier, sent = self.earlier, self.transcript.sent.digests
        lists = (key for key, value in self.first_values.items() if is_message_list(value))
        before = earlier.before if earlier.has_begun else {key: self._before(key) for key in lists}
        written = {*earlier.written, *self._written}
        return TaskSoFar(before, written, self.transcript.digests(proofs), sent)

    def has_made(self, key: str, value: object) -> bool:
        """Whether the task wrote a key of the state, other than its own input."""
        is_input = isinstance(self._given, Mapping) and value is self._given.get(key)
        return (key in self._written or key in self.earlier.written) and not is_input

    def new_messages(self, state: Mapping[str, Any]) -> Sequence[BaseMessage]:
        """Return the messages of a state, without those from before the task."""
        key = spoken(state)
        messages: Sequence[BaseMessage] = state.get(key, ())
        before = self._before(key)
        ids = [message.id for message in messages]
        is_known = before is not None and before in ids
        return messages[ids.index(before) + 1 :] if is_known else messages

    def last_messages(self, state: Mapping[str, Any]) -> Sequence[BaseMessage]:
        """Return the last message of a state, if the task made it, and those written beside it.

        A message from a cache has the id of an earlier one, whose place it takes.
        """
        if not (messages := state.get(spoken(state))):
            return ()
        if not (last := self.last_message(state)):
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

    def last_message(self, state: Mapping[str, Any]) -> BaseMessage | None:
        """Return the last message of a state, if the task made it."""
        key = spoken(state)
        last: BaseMessage = state[key][-1]
        first = () if self.earlier.has_begun else self.first_values.get(key)
        is_first = is_message_list(first) and last is first[-1]  # it may have no id
        is_known = last.id is not None and last.id == self._before(key)
        return None if is_first or is_known else last

    def _before(self, key: str) -> str | None:
        """Return the id of the last message that a list had before the task."""
        first = self.first_values.get(key)
        if self.earlier.has_begun or not is_message_list(first):
            return self.earlier.before.get(key)
        return first[-1].id


def _answered(values: object) -> set[str]:
    """Return the ids of the tool calls that a state has answers to."""
    messages = messages_in(values)
    return {each.tool_call_id for each in messages if isinstance(each, ToolMessage)}
