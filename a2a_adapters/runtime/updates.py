"""Updates for subscribers: protocol events whose JSON is made once for all readers.

Most updates are chunks of text. They stay plain strings until a subscriber
needs the protocol message, and their JSON is joined from prepared pieces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from a2a.types import (
    Artifact,
    GetTaskRequest,
    Message,
    Part,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from a2a.utils.task import apply_history_length

from a2a_adapters.protocol.encoding import (
    artifact_update_to_dict,
    message_to_dict,
    one_line,
    status_update_to_dict,
    task_to_dict,
    text_chunk_head,
    text_chunk_to_json,
)
from a2a_adapters.protocol.generation import set_drafted
from a2a_adapters.storage.quota import task_size

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable
    from typing import Any

    from a2a.server.events import Event

    Encode: TypeAlias = Callable[[Event], bytes]

_MEMBERS: dict[type, tuple[str, Callable[..., dict[str, Any]]]] = {
    Task: ("task", task_to_dict),
    Message: ("message", message_to_dict),
    TaskStatusUpdateEvent: ("statusUpdate", status_update_to_dict),
    TaskArtifactUpdateEvent: ("artifactUpdate", artifact_update_to_dict),
}
"""The name of each event in a `StreamResponse`, and its conversion to JSON."""


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return an event as the ProtoJSON of a `StreamResponse`."""
    name, to_dict = _MEMBERS[type(event)]
    return {name: to_dict(event)}


class Update:
    """One protocol event for the subscribers of a task."""

    chunk = None
    """The artifact and its text, if it is a chunk of text."""

    __slots__ = (
        "_json",
        "_others",
        "event",
        "generation",
        "is_progress",
        "readers",
        "size",
        "version",
    )

    def __init__(
        self, event: Event, *, is_progress: bool = False, version: int = 0, generation: int = 0
    ) -> None:
        self.event = event
        self.version = version
        """The stored version that is owed to push receivers; 0 if none is."""
        self.generation = generation
        """The generation of the task after it (A2A 1.1); 0 without one."""
        self.is_progress = is_progress
        self.size = task_size(event) if isinstance(event, Task) else event.ByteSize()
        """About how many bytes it takes."""
        self.readers = 0
        """Number of subscribers that hold it."""
        self._json: bytes | None = None
        self._others: dict[Encode, bytes] | None = None

    def once(self, encode: Encode) -> bytes:
        """Return `encode(event)`, made once for all readers."""
        if self._others is None:
            self._others = {}
        if encode not in self._others:
            self._others[encode] = encode(self.event)
        return self._others[encode]

    def with_history(self, length: int) -> Update:
        """Return the update with only the latest `length` messages of a task's history."""
        if not isinstance(self.event, Task) or len(self.event.history) <= length:
            return self
        task = apply_history_length(self.event, GetTaskRequest(history_length=length))
        return Update(task, generation=self.generation)

    def json(self) -> bytes:
        """Return the event as the JSON of a `StreamResponse`."""
        if self._json is None:
            self._json = one_line(event_to_dict(self.event))
        return self._json


class TextStream:
    """The text artifact that is being written: makes the updates for its chunks."""

    __slots__ = ("_artifact", "_chunks", "_head", "_ids", "artifact_id")

    def __init__(self, artifact: Artifact, task_id: str, context_id: str) -> None:
        self._artifact: Artifact | None = artifact
        self.artifact_id = artifact.artifact_id
        """The artifact's id."""
        self._chunks = [part.text for part in artifact.parts]
        self._ids = (task_id, context_id)
        self._head = b""

    def first(self, text: str) -> Update:
        """Begin the artifact."""
        assert self._artifact is not None  # noqa: S101 - it has not ended
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
        """Merge the appended chunks into the artifact."""
        if len(self._chunks) > 1 and self._artifact is not None:
            self._chunks = ["".join(self._chunks)]
            self._artifact.parts[0].text = self._chunks[0]

    def end(self) -> None:
        """Release the complete artifact: unread updates must not keep it."""
        self.settle()
        self._artifact, self._chunks = None, []

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

    def head(self) -> bytes:
        """Return the JSON of a chunk up to its text, made for the first reader."""
        if not self._head:
            self._head = text_chunk_head(*self._ids, self.artifact_id)
        return self._head


class TextUpdate:
    """A chunk of text for the subscribers of a task."""

    __slots__ = (
        "_json",
        "_others",
        "_stream",
        "_text",
        "generation",
        "is_last",
        "readers",
        "size",
    )

    is_progress = False
    version = 0

    def __init__(self, stream: TextStream, text: str, *, last: bool) -> None:
        self._stream = stream
        self._text = text
        self._json: bytes | None = None
        self._others: dict[Encode, bytes] | None = None
        self.is_last = last
        self.size = len(text)
        self.readers = 0
        self.generation = 0
        """The generation of the task after it (A2A 1.1); 0 without one."""

    @property
    def chunk(self) -> tuple[str, str]:
        """The artifact's id and the text."""
        return self._stream.artifact_id, self._text

    @property
    def event(self) -> TaskArtifactUpdateEvent:
        """The chunk as a protocol event."""
        event = self._stream.to_event(self._text, last=self.is_last)
        if self.generation:
            set_drafted(event, self.generation)
        return event

    def once(self, encode: Encode) -> bytes:
        """Return `encode(event)`, made once for all readers."""
        if self._others is None:
            self._others = {}
        if encode not in self._others:
            self._others[encode] = encode(self.event)
        return self._others[encode]

    def and_then(self, later: AnyUpdate) -> TextUpdate | None:
        """Return this chunk joined with a later one of the same text, else None."""
        if not isinstance(later, TextUpdate) or later._stream is not self._stream:  # noqa: SLF001
            return None
        return TextUpdate(self._stream, self._text + later._text, last=later.is_last)  # noqa: SLF001

    def json(self) -> bytes:
        """Return the chunk as the JSON of a `StreamResponse`."""
        if self._json is None:
            self._json = (
                one_line({"artifactUpdate": artifact_update_to_dict(self.event)})
                if self.is_last
                else text_chunk_to_json(self._stream.head(), self._text)
            )
        return self._json


AnyUpdate = Update | TextUpdate


def take_next(updates: deque[AnyUpdate]) -> AnyUpdate:
    """Take the first update, joined with the chunks of text that continue it."""
    update = updates.popleft()
    while isinstance(update, TextUpdate) and updates:
        both = update.and_then(updates[0])
        if both is None:
            break
        update = both
        updates.popleft()
    return update
