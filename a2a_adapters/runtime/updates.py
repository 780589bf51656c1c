"""What subscribers receive: a protocol event, its JSON made once for all of them.

Chunks of text are most of what an agent sends. They stay plain strings until a subscriber
needs the protocol message, and their JSON is put together from prepared pieces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.types import (
    Artifact,
    Message,
    Part,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from google.protobuf.json_format import MessageToDict
from pydantic_core import to_json

if TYPE_CHECKING:
    from collections import deque

    from a2a.server.events import Event

_KEYS = {
    Task: "task",
    Message: "message",
    TaskStatusUpdateEvent: "statusUpdate",
    TaskArtifactUpdateEvent: "artifactUpdate",
}


class Update:
    """One protocol event on its way to the subscribers of a task."""

    __slots__ = ("_json", "event", "is_progress")

    def __init__(self, event: Event, *, is_progress: bool = False) -> None:
        self.event = event
        self.is_progress = is_progress
        self._json: bytes | None = None

    def json(self) -> bytes:
        """Return the event as the JSON of a `StreamResponse`."""
        if self._json is None:
            self._json = one_line({_KEYS[type(self.event)]: MessageToDict(self.event)})
        return self._json


class TextStream:
    """The text artifact that is being written: makes the updates for its chunks."""

    __slots__ = ("_artifact", "_chunks", "_head", "_ids", "_tail")

    def __init__(self, artifact: Artifact, task_id: str, context_id: str) -> None:
        self._artifact = artifact
        self._chunks: list[str] = []
        self._ids = (task_id, context_id)
        head = {"taskId": task_id, "contextId": context_id}
        artifact_id = one_line(artifact.artifact_id)
        self._head = (
            b'{"artifactUpdate":'
            + one_line(head)[:-1]
            + b',"artifact":{"artifactId":'
            + artifact_id
            + b',"parts":[{"text":'
        )
        self._tail = b'}]},"append":true}}'

    @property
    def artifact_id(self) -> str:
        """The artifact's id."""
        return self._artifact.artifact_id

    def first(self, text: str) -> Update:
        """Begin the artifact."""
        self._artifact.parts.add(text=text)
        self._chunks = [text]
        task_id, context_id = self._ids
        event = TaskArtifactUpdateEvent(
            task_id=task_id, context_id=context_id, artifact=self._artifact
        )
        return Update(event)

    def next(self, text: str, *, last: bool) -> TextUpdate:
        """Append to the artifact."""
        self._chunks.append(text)
        return TextUpdate(self, text, last=last)

    def settle(self) -> None:
        """Put what was appended into the artifact."""
        if len(self._chunks) > 1:
            self._chunks = ["".join(self._chunks)]
            self._artifact.parts[0].text = self._chunks[0]

    def to_event(self, text: str, *, last: bool) -> TaskArtifactUpdateEvent:
        """Return a chunk as a protocol event."""
        task_id, context_id = self._ids
        return TaskArtifactUpdateEvent(
            task_id=task_id,
            context_id=context_id,
            artifact=Artifact(artifact_id=self.artifact_id, parts=[Part(text=text)]),
            append=True,
            last_chunk=last,
        )

    def to_json(self, text: str) -> bytes:
        """Return a chunk that is not the last one as JSON."""
        return self._head + one_line(text) + self._tail


class TextUpdate:
    """A chunk of text on its way to the subscribers of a task."""

    __slots__ = ("_json", "_stream", "_text", "is_last")

    is_progress = False

    def __init__(self, stream: TextStream, text: str, *, last: bool) -> None:
        self._stream = stream
        self._text = text
        self._json: bytes | None = None
        self.is_last = last

    @property
    def event(self) -> TaskArtifactUpdateEvent:
        """The chunk as a protocol event."""
        return self._stream.to_event(self._text, last=self.is_last)

    def and_then(self, later: AnyUpdate) -> TextUpdate | None:
        """Return this chunk and a later one as one, None if that is no chunk of the same text."""
        if not isinstance(later, TextUpdate) or later._stream is not self._stream:  # noqa: SLF001
            return None
        return TextUpdate(self._stream, self._text + later._text, last=later.is_last)  # noqa: SLF001

    def json(self) -> bytes:
        """Return the chunk as the JSON of a `StreamResponse`."""
        if self._json is None:
            self._json = (
                one_line({"artifactUpdate": MessageToDict(self.event)})
                if self.is_last
                else self._stream.to_json(self._text)
            )
        return self._json


AnyUpdate = Update | TextUpdate


def take_next(updates: deque[AnyUpdate]) -> AnyUpdate:
    """Take the first update, together with the chunks of text that go on with it."""
    update = updates.popleft()
    while isinstance(update, TextUpdate) and updates:
        both = update.and_then(updates[0])
        if both is None:
            break
        update = both
        updates.popleft()
    return update


def one_line(value: object) -> bytes:
    """Return `value` as JSON that is one line for everyone.

    Clients that read streams by lines often take Unicode's separators for line ends, as
    Python's `str.splitlines` and so httpx do.
    """
    return escaped(to_json(value))


def escaped(json: bytes) -> bytes:
    """Return JSON with the separators escaped that some take for line ends."""
    return (
        json.replace(b"\xe2\x80\xa8", b"\\u2028")
        .replace(b"\xe2\x80\xa9", b"\\u2029")
        .replace(b"\xc2\x85", b"\\u0085")
    )
