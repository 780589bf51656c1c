"""Writes one run's events to an a2a-sdk event queue, in A2A's form."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from a2a.server.events import EventQueue
from a2a.types import (
    Artifact,
    Message,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatusUpdateEvent,
)
from a2a.types import Part as ProtocolPart

from a2a_adapters.contract.events import (
    PROGRESS_EXTENSION,
    TIMESTAMP_EXTENSION,
    AuthRequired,
    InputRequired,
    Output,
    Progress,
    ProgressEvent,
    Reply,
    ToolCall,
    ToolResult,
)
from a2a_adapters.contract.parts import JSON, Data, Part, Text
from a2a_adapters.contract.telemetry import ObservedRun
from a2a_adapters.contract.text import BLANK_LINE
from a2a_adapters.executor.a2ui import negotiated
from a2a_adapters.observability.failures import LimitReachedError
from a2a_adapters.protocol import states
from a2a_adapters.protocol.conversion import (
    ARTIFACTS,
    DURABLE,
    agent_parts,
    agent_struct,
    replace_surrogates,
)
from a2a_adapters.protocol.messages import ANSWER, agent_message, new_id, status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a.server.agent_execution import RequestContext
    from a2a.server.events import Event

_TIMESTAMP = f"{TIMESTAMP_EXTENSION.removeprefix('https://')}/timestamp"
"""See extensions/timestamp/v1/spec.md of the repository a2aproject/a2a-samples."""


class AnswersTooLargeError(LimitReachedError):
    """No memory is left for more of an answer."""


class AppendText(Protocol):
    """Appends to a text artifact, which the first chunk creates."""

    async def __call__(self, artifact_id: str, text: str, *, last: bool) -> None:
        """Append `text`.

        Raises:
            AnswersTooLargeError: No memory is left for it.
        """


class TextQueue(EventQueue):
    """The runtime's event queue: it joins chunks of text itself."""

    append_text: AppendText

    async def announce(self, state: TaskState, metadata: Mapping[str, JSON]) -> None:
        """Create the task, which begins with the current message."""

    async def keep(self, kind: str, body: bytes) -> None:
        """Store state of the conversation with the next event, or not at all."""

    async def truncate(self, artifacts: int) -> None:
        """Drop all of the task's artifacts but the first ones."""

    async def count_attempt(self) -> None:
        """Note that another attempt at a message is about to begin."""


class TaskWriter:
    """Turns adapter events into protocol events for one run on one task.

    Args:
        text_queue: The queue, if it joins chunks of text itself.
        by_whole: Whether the last chunk of a text holds the whole text, replacing the chunks
            before.
        active: The extensions that the caller activated.
        remembers: Whether `said` collects the answer.
    """

    def __init__(
        self,
        queue: EventQueue,
        task_id: str,
        context_id: str,
        text_queue: TextQueue | None = None,
        *,
        by_whole: bool = False,
        active: frozenset[str] = frozenset(),
        remembers: bool = False,
    ) -> None:
        self.observed = ObservedRun()
        self.remembers = remembers
        self._active = active
        self._by_whole = by_whole
        self._queue = queue
        self._text_queue = text_queue
        self._is_timed = TIMESTAMP_EXTENSION in active
        self._joining = None if self._is_timed else text_queue  # it sends no metadata
        self._task_id = task_id
        self._context_id = context_id
        self._artifacts = 0
        self._before = 0
        self._texts = 0
        self._artifact_id = ""
        self._begun = ""
        self._chunks: list[str] = []
        self._closed: dict[str, str] = {}
        """The texts of the answer before the current one, by the ids of their artifacts."""
        self._earlier: dict[str, str] = {}
        """The answers to the task's earlier messages, by the ids of their artifacts."""
        self._metadata: dict[str, JSON] = {}
        self._said: dict[str, Sequence[Part]] = {}
        """The parts of the answer, by artifact, if they are collected."""
        self.replaced: list[tuple[str, str]] = []
        """The answers to earlier messages that were corrected, and what replaces them."""
        self.has_written = False
        self.announced = False

    def follow(self, artifacts: Sequence[Artifact]) -> None:
        """Continue an announced task that already has these artifacts."""
        self.announced = True
        self._artifacts = self._before = len(artifacts)
        self._earlier = {
            artifact.artifact_id: "".join(part.text for part in artifact.parts)
            for artifact in artifacts
            if artifact.name == ANSWER and all(part.HasField("text") for part in artifact.parts)
        }

    async def announce(self, message: Message, state: TaskState) -> None:
        """Create the task; `message` begins its history."""
        self.announced = True
        if self._text_queue:
            self.has_written = True
            observed = self.observed.metadata() if self.observed.is_active else {}
            await self._text_queue.announce(state, observed)
            return
        task = Task(
            id=self._task_id, context_id=self._context_id, status=status(state), history=[message]
        )
        await self._send(task)

    @property
    def sent(self) -> str:
        """The text of the current message that has been sent, and not withdrawn."""
        return "".join([*self._closed.values(), *self._chunks])

    @property
    def said(self) -> list[Part]:
        """The parts of the answer, if they are collected."""
        return [part for parts in self._said.values() for part in parts]

    async def text(self, chunk: str) -> None:
        """Append to the answer.

        Raises:
            TypeError: The chunk is not a string.
        """
        if not isinstance(chunk, str):
            raise TypeError(f"an adapter yielded a text that is {type(chunk).__name__}")
        if not chunk:
            return
        chunk = replace_surrogates(chunk)
        self._chunks.append(chunk)
        is_first = not self._artifact_id
        if is_first:
            if not (chunk := self._current()):
                return
            self._artifact_id = self._text_id()
            self._artifacts += 1
            self._begun = _now() if self._is_timed else ""
        if self._joining:
            await self._joining.append_text(self._artifact_id, chunk, last=False)
        else:
            artifact = self._answer(chunk, is_begun=is_first)
            await self._artifact(artifact, append=not is_first)

    def _current(self) -> str:
        """Return the current text, which needs no blank line after another artifact."""
        text = "".join(self._chunks)
        return text.lstrip("\n") if self._closed else text

    async def accept(self, text: str, *, of_task: bool = False) -> None:
        """Make `text` the text of the answer, in place of all text sent before.

        Args:
            text: The text.
            of_task: Whether it includes the answers to the task's earlier messages.
        """
        text = replace_surrogates(text)
        if of_task:
            text = await self._correct_earlier(text)
        *closed, text = _divided(text, [*self._closed.values(), "".join(self._chunks)])
        for artifact_id, new in zip(tuple(self._closed), closed, strict=True):
            await self._correct_closed(artifact_id, new)
        sent = "".join(self._chunks)
        if text.startswith(sent):
            await self.text(text[len(sent) :])
        elif self._artifact_id:
            self._chunks = [text]
            await self._artifact(self._answer(self._current()), append=False)
        else:
            self._chunks.clear()
            await self.text(text)

    async def _correct_closed(self, artifact_id: str, text: str) -> None:
        if text == self._closed[artifact_id]:
            return
        is_first = artifact_id == next(iter(self._closed))
        self._closed[artifact_id] = text
        shown = text if is_first else text.lstrip("\n")
        if self.remembers:
            self._said[artifact_id] = [Text(shown)] if shown else []
        await self._replace(artifact_id, shown)

    async def _replace(self, artifact_id: str, text: str) -> None:
        """Replace a text that has ended."""
        artifact = Artifact(artifact_id=artifact_id, name=ANSWER, parts=[ProtocolPart(text=text)])
        await self._artifact(artifact, append=False, last=True)

    async def _correct_earlier(self, text: str) -> str:
        """Correct the answers to earlier messages, and return the part of `text` after them.

        Those that the text still has stay, and new text between them takes the place of the first
        one that it lacks. If that is behind them, it gets the rest, up to the current message.
        """
        earlier = [*self._earlier.values()]
        texts, rest = _placed(text, earlier)
        if len(texts) < len(earlier):
            sent, remaining = self.sent, ""
            if not sent:
                rest, remaining = "", rest
            elif (before := _without_suffix(rest, sent)) is not None:
                rest, remaining = sent, before
            texts += [remaining, *[""] * (len(earlier) - len(texts) - 1)]
        for artifact_id, said, new in zip([*self._earlier], earlier, texts, strict=True):
            if said not in (new, new.lstrip("\n")):  # behind a file, it has no blank lines
                self._earlier[artifact_id] = new
                await self._replace(artifact_id, new)
                self.replaced.append((said, new))
        return rest

    def _text_id(self) -> str:
        """Return an id for the text that stays the same when another process resumes the message.

        Readers who got the text before it was stored then see it replaced, not repeated.
        """
        text_id = f"{self._task_id}-{self._before}-{self._texts}"
        self._texts += 1
        return text_id

    async def close_text(self) -> None:
        """End the answer's artifact, whose text stays as it is; later text begins another."""
        if not self._artifact_id:
            return
        # Nothing may be left of what was withdrawn.
        if self._by_whole or not any(self._chunks):
            await self._artifact(self._answer(self._current()), append=False, last=True)
        elif self._joining:
            await self._joining.append_text(self._artifact_id, "", last=True)
        else:
            await self._artifact(self._answer("", is_begun=False), append=True, last=True)
        if self.remembers:
            self._said[self._artifact_id] = [Text(text)] if (text := self._current()) else []
        self._artifact_id = ""
        self._chunks.clear()

    async def _close_text_before(self) -> None:
        """End the artifact of the text that another artifact follows; it may yet be corrected."""
        if artifact_id := self._artifact_id:
            said = "".join(self._chunks)
            await self.close_text()
            self._closed[artifact_id] = said

    async def output(self, output: Output) -> None:
        """Add a whole artifact. One without parts, which A2A does not allow, is dropped.

        Later text begins another artifact, so that the order is that of the events.
        """
        output = negotiated(output, self._active)
        if not output.parts:
            return
        await self._close_text_before()
        said, parts = agent_parts(output.parts)
        self._artifacts += 1
        artifact = Artifact(
            name=replace_surrogates(output.name),
            description=replace_surrogates(output.description),
            artifact_id=new_id(),
            parts=parts,
        )
        if self.remembers:
            self._said[artifact.artifact_id] = said
        if output.extensions:
            artifact.extensions.extend(self._activated(output.extensions))
        if output.metadata:
            artifact.metadata.CopyFrom(agent_struct(output.metadata))
        if self._is_timed:
            _stamp(artifact, _now())
        await self._artifact(artifact, append=False, last=True)

    def add_metadata(self, values: dict[str, JSON]) -> None:
        """Send task metadata with the next status.

        Raises:
            ValueError: It cannot be expressed as JSON.
        """
        agent_struct(values)
        self._metadata.update(self.observed.note(values))

    async def progress(self, event: ProgressEvent) -> None:
        """Send an event of the progress extension."""
        message = self._message(_progress_parts(event))
        message.extensions.append(PROGRESS_EXTENSION)
        await self._status(states.WORKING, message)

    async def ask(self, event: InputRequired) -> None:
        """Leave the task waiting for its caller."""
        await self.close_text()
        metadata = dict(self.observed.note(event.metadata))
        if self.observed.is_active:
            self._metadata.update(self.observed.metadata())
        message = self._message(question_parts(event))
        message.extensions.extend(self._activated(event.extensions))
        if event.durable:
            metadata |= {DURABLE: True, ARTIFACTS: self._artifacts}
        if metadata:
            message.metadata.CopyFrom(agent_struct(metadata))
        is_auth = isinstance(event, AuthRequired)
        state = states.AUTH_REQUIRED if is_auth else states.INPUT_REQUIRED
        await self._status(state, message)

    async def reply(self, reply: Reply) -> None:
        """Answer with a message, without a task."""
        message = agent_message(reply.parts, self._context_id)
        message.extensions.extend(self._activated(reply.extensions))
        shown = self.observed.note(reply.metadata)
        observed = self.observed.metadata() if self.observed.is_active else {}
        if metadata := {**shown, **observed}:
            message.metadata.CopyFrom(agent_struct(metadata))
        if self._is_timed:
            _stamp(message, _now())
        await self._send(message)

    async def submitted(self) -> None:
        """Publish that the message is accepted and waits."""
        await self._status(states.SUBMITTED)

    async def working(self) -> None:
        """Publish that the work has begun or continues."""
        await self._status(states.WORKING)

    async def finish(self, state: TaskState, reason: str = "") -> None:
        """End the task, with a reason if there is one."""
        if self._artifact_id:
            await self.close_text()
        if self.observed.is_active:
            self._metadata.update(self.observed.metadata())
        await self._status(state, self._message([Text(reason)]) if reason else None)

    def _activated(self, extensions: Sequence[str]) -> list[str]:
        """Return an event's extensions that the caller activated, each once."""
        return [uri for uri in dict.fromkeys(extensions) if uri in self._active]

    def _message(self, parts: Sequence[Part]) -> Message:
        return agent_message(parts, self._context_id, self._task_id)

    def _answer(self, text: str, *, is_begun: bool = True) -> Artifact:
        """Return the text's artifact, or a chunk of one that was begun before."""
        artifact = Artifact(artifact_id=self._artifact_id, parts=[ProtocolPart(text=text)])
        if is_begun:
            artifact.name = ANSWER
            if self._is_timed:
                _stamp(artifact, self._begun)
        return artifact

    async def _status(self, state: TaskState, message: Message | None = None) -> None:
        if self._is_timed and message:
            _stamp(message, _now())
        event = TaskStatusUpdateEvent(
            task_id=self._task_id, context_id=self._context_id, status=status(state, message)
        )
        if self._metadata:
            event.metadata.CopyFrom(agent_struct(self._metadata))
            self._metadata = {}
        self.has_written = True
        await self._queue.enqueue_event(event)

    async def _artifact(self, artifact: Artifact, *, append: bool, last: bool = False) -> None:
        event = TaskArtifactUpdateEvent(
            task_id=self._task_id,
            context_id=self._context_id,
            artifact=artifact,
            append=append,
            last_chunk=last,
        )
        await self._send(event)

    async def _send(self, event: Event) -> None:
        self.has_written = True
        await self._queue.enqueue_event(event)


def _divided(text: str, said: Sequence[str]) -> list[str]:
    """Divide a text among the places of an earlier one.

    Unchanged places at its beginning and its end keep their text, the first of the others gets the
    rest, and those behind it none. If there are no others, the rest is added where it is.
    """
    places, first, last = [*said], 0, len(said)
    while first < last and text.startswith(places[first]):
        text = text.removeprefix(places[first])
        first += 1
    while first < last and text.endswith(places[last - 1]):
        last -= 1
        text = text.removesuffix(places[last])
    if first == last == len(said):
        return [*places[:-1], places[-1] + text]
    if first == last:
        return [*places[:first], text + places[first], *places[first + 1 :]]
    return [*places[:first], text, *[""] * (last - first - 1), *places[last:]]


def _placed(text: str, earlier: Sequence[str]) -> tuple[list[str], str]:
    """Place a text among earlier ones, and return those that this settles, and the rest."""
    places = [*earlier]
    texts: list[str] = []
    while places:
        later = [each for each in places[1:] if each]
        rest = _without_prefix(text, places[0], later[0] if later else "") if places[0] else text
        if rest is not None:
            texts.append(places.pop(0))
            text = rest
            continue
        known = (_begin_of(each, text) if each else 0 for each in places[1:])
        number, begin = next(((n, at) for n, at in enumerate(known) if at), (0, 0))
        if not begin:
            break
        texts += [text[:begin].removesuffix(BLANK_LINE), *[""] * number]
        text, places = text[begin:], places[number + 1 :]
    return texts, text


def _begin_of(message: str, text: str) -> int:
    """Return where a message begins among those of a text; 0 if it is not behind the first one."""
    begin = f"{text}{BLANK_LINE}".find(f"{BLANK_LINE}{message}{BLANK_LINE}")
    return begin + len(BLANK_LINE) if begin >= 0 else 0


def _without_prefix(text: str, prefix: str, following: str) -> str | None:
    """Return a text after its first messages, or None if it begins differently.

    `following` is what may go on with the last one, behind a file.
    """
    if not text.startswith(prefix):
        return None
    rest = text.removeprefix(prefix)
    if following and rest.startswith(following) and not _begin_of(following, text):
        return rest
    return rest.removeprefix(BLANK_LINE) if not rest or rest.startswith(BLANK_LINE) else None


def _without_suffix(text: str, suffix: str) -> str | None:
    """Return the messages of a text without the given last ones, or None if it ends differently."""
    rest = text.removesuffix(suffix)
    if rest == text and suffix:
        return None
    return rest.removesuffix(BLANK_LINE) if not rest or rest.endswith(BLANK_LINE) else None


def question_parts(event: InputRequired) -> list[Part]:
    """Return the parts of a question."""
    return [*([Text(event.prompt)] if event.prompt else []), *event.parts]


def _progress_parts(event: ProgressEvent) -> list[Part]:
    match event:
        case ToolCall(id=call_id, name=name, arguments=arguments):
            data = {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
            return [Data(data)]
        case ToolResult(id=call_id, name=name, result=result, is_error=is_error):
            outcome = {"result": result, "is_error": is_error}
            return [Data({"type": "tool_result", "id": call_id, "name": name, **outcome})]
        case Progress(text=text, data=news):
            return [*([Text(text)] if text else []), Data({"type": "progress", "data": news})]


def _now() -> str:
    """Return the current time in UTC, as in RFC 3339."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _stamp(made: Message | Artifact, moment: str) -> None:
    """Add the creation time to a message or an artifact."""
    made.metadata[_TIMESTAMP] = moment
    made.extensions.append(TIMESTAMP_EXTENSION)


_ADK_EXTENSION = "https://google.github.io/adk-docs/a2a/a2a-extension/"
_ADK_MARK = "is_user_input"
"""Key in the metadata of each part that google-adk's client sends for a user."""

_STREAMS = frozenset({"SendStreamingMessage", "message/stream"})


def closes_by_whole(context: RequestContext, *, is_ours: bool) -> bool:
    """Return whether the last chunk of an answer has to hold the whole text.

    Most clients join the chunks of a stream, some regardless of `append`: for them the last chunk
    is empty. Two readers need the whole text in the last chunk, as a replacement:

    - google-adk's `RemoteA2aAgent` takes the last chunk for the whole answer, and the others for
      a preview (seen in 2.13);
    - a2a-sdk's own server stores each chunk as a part of its own, which readers of the whole task
      see as separate lines (seen in 1.3).

    Args:
        context: The request.
        is_ours: Whether our runtime joins the chunks.
    """
    if not is_ours and not _is_streamed(context):
        return True
    if _ADK_EXTENSION in context.requested_extensions:
        return True
    task, message = context.current_task, context.message
    said = [*(task.history[:1] if task else ()), *([message] if message else ())]
    return any(
        _ADK_MARK in part.metadata
        for each in said
        for part in each.parts
        if part.HasField("metadata")
    )


def _is_streamed(context: RequestContext) -> bool:
    """Return whether the answer is known to be read as a stream, on a2a-sdk's server."""
    state = context.call_context.state
    headers = state.get("headers") or {}
    return state.get("method") in _STREAMS or "text/event-stream" in headers.get("accept", "")
