"""Writes one run's events to an a2a-sdk event queue, in the form A2A wants them."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import TYPE_CHECKING

from a2a.server.events import Event, EventQueue
from a2a.types import (
    Artifact,
    Message,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.types import Part as ProtocolPart
from google.protobuf.timestamp_pb2 import Timestamp

from a2a_adapters import states
from a2a_adapters.conversion import DURABLE, to_protocol, to_struct
from a2a_adapters.events import (
    PROGRESS_EXTENSION,
    AuthRequired,
    InputRequired,
    Output,
    Progress,
    ProgressEvent,
    Reply,
    ToolCall,
    ToolResult,
)
from a2a_adapters.ids import new_id
from a2a_adapters.parts import JSON, Data, Part, Text

if TYPE_CHECKING:
    from collections.abc import Sequence

ANSWER = "answer"
"""Name of the artifact that holds the answer's text."""


class TextQueue(EventQueue):
    """The runtime's event queue: it joins chunks of text itself, and knows who has to wait."""

    @abstractmethod
    async def append_text(self, artifact_id: str, text: str, *, last: bool) -> None:
        """Append `text` to the text artifact, which the first chunk creates."""

    @abstractmethod
    def waits(self) -> None:
        """Note that the message waits for its turn."""

    @abstractmethod
    def begins(self) -> None:
        """Note that the message's turn has come."""


class TaskWriter:
    """Turns adapter events into protocol events for one run on one task."""

    def __init__(self, queue: EventQueue, task_id: str, context_id: str) -> None:
        self._queue = queue
        self._text_queue = queue if isinstance(queue, TextQueue) else None
        self._task_id = task_id
        self._context_id = context_id
        self._artifact_id = ""
        self._chunks: list[str] = []
        self._metadata: dict[str, JSON] = {}
        self.said: list[Part] = []
        self.has_written = False

    def waits(self) -> None:
        """Note that the message waits for its turn."""
        if self._text_queue:
            self._text_queue.waits()

    def begins(self) -> None:
        """Note that the message's turn has come."""
        if self._text_queue:
            self._text_queue.begins()

    async def announce(self, message: Message, state: TaskState) -> None:
        """Create the task; `message` begins its history."""
        task = Task(
            id=self._task_id,
            context_id=self._context_id,
            status=status(state),
            history=[message],
        )
        await self._send(task)

    async def text(self, chunk: str) -> None:
        """Append to the answer."""
        if not chunk:
            return
        if not chunk.isascii():  # halves of surrogate pairs cannot be sent
            chunk = chunk.encode("utf-8", "replace").decode()
        self._chunks.append(chunk)
        is_first = not self._artifact_id
        if is_first:
            self._artifact_id = new_id()
        if self._text_queue:
            await self._text_queue.append_text(self._artifact_id, chunk, last=False)
        else:
            artifact = _answer(self._artifact_id, chunk, named=is_first)
            await self._artifact(artifact, append=not is_first)

    async def close_text(self) -> None:
        """End the answer's artifact; text written later begins another."""
        if not self._artifact_id:
            return
        text = "".join(self._chunks)
        if self._text_queue:
            await self._text_queue.append_text(self._artifact_id, "", last=True)
        else:
            # Queues that do not join chunks keep each one as a part: replace them by the whole.
            await self._artifact(_answer(self._artifact_id, text), append=False, last=True)
        self.said.append(Text(text))
        self._artifact_id = ""
        self._chunks.clear()

    async def output(self, output: Output) -> None:
        """Add a whole artifact. One without parts, which A2A does not allow, is dropped."""
        if not output.parts:
            return
        self.said.extend(output.parts)
        artifact = Artifact(
            artifact_id=new_id(),
            name=output.name,
            description=output.description,
            parts=to_protocol(output.parts),
        )
        if output.metadata:
            artifact.metadata.CopyFrom(to_struct(output.metadata))
        await self._artifact(artifact, append=False, last=True)

    def add_metadata(self, values: dict[str, JSON]) -> None:
        """Send task metadata with the next status.

        Raises:
            ValueError: It cannot be expressed as JSON.
        """
        to_struct(values)
        self._metadata.update(values)

    async def progress(self, event: ProgressEvent) -> None:
        """Send an event of the progress extension."""
        message = self._message(_progress_parts(event))
        message.extensions.append(PROGRESS_EXTENSION)
        await self._status(states.WORKING, message)

    async def ask(self, event: InputRequired) -> None:
        """Leave the task waiting for its caller."""
        await self.close_text()
        parts = [*([Text(event.prompt)] if event.prompt else []), *event.parts]
        self.said.extend(parts)
        message = self._message(parts)
        metadata = {**event.metadata, **({DURABLE: True} if event.durable else {})}
        if metadata:
            message.metadata.CopyFrom(to_struct(metadata))
        is_auth = isinstance(event, AuthRequired)
        state = states.AUTH_REQUIRED if is_auth else states.INPUT_REQUIRED
        await self._status(state, message)

    async def reply(self, reply: Reply) -> None:
        """Answer by a bare message, without a task."""
        self.said.extend(reply.parts)
        message = _agent_message(reply.parts, self._context_id)
        if reply.metadata:
            message.metadata.CopyFrom(to_struct(reply.metadata))
        await self._send(message)

    async def working(self) -> None:
        """Say that the work has begun, or goes on."""
        await self._status(states.WORKING)

    async def finish(self, state: TaskState, reason: str = "") -> None:
        """End the task, telling why where there is something to tell."""
        await self.close_text()
        await self._status(state, self._message([Text(reason)]) if reason else None)

    def _message(self, parts: Sequence[Part]) -> Message:
        return _agent_message(parts, self._context_id, self._task_id)

    async def _status(self, state: TaskState, message: Message | None = None) -> None:
        event = TaskStatusUpdateEvent(
            task_id=self._task_id, context_id=self._context_id, status=status(state, message)
        )
        if self._metadata:
            event.metadata.CopyFrom(to_struct(self._metadata))
            self._metadata = {}
        await self._send(event)

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


def status(state: TaskState, message: Message | None = None) -> TaskStatus:
    """Return a status of now."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    timestamp = Timestamp(seconds=seconds, nanos=nanoseconds // 1000 * 1000)
    return TaskStatus(state=state, message=message, timestamp=timestamp)


def _answer(artifact_id: str, text: str, *, named: bool = True) -> Artifact:
    name = ANSWER if named else ""
    return Artifact(artifact_id=artifact_id, name=name, parts=[ProtocolPart(text=text)])


def _agent_message(parts: Sequence[Part], context_id: str, task_id: str = "") -> Message:
    return Message(
        message_id=new_id(),
        role=Role.ROLE_AGENT,
        parts=to_protocol(parts),
        context_id=context_id,
        task_id=task_id,
    )


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
