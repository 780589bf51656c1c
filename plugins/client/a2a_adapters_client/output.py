"""Prints results as text or protocol JSON (a2a-cli 0.2, section 11)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from a2a.types import Role, TaskState
from a2a_adapters_oauth import LOGGED_IN, login_request

from a2a_adapters.calling.task import as_reply
from a2a_adapters.cli.terminal import echo, escaped, note, one_line
from a2a_adapters.protocol import states
from a2a_adapters.protocol.conversion import from_value
from a2a_adapters.protocol.encoding import to_dict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from a2a.types import (
        Artifact,
        Message,
        Part,
        SendMessageResponse,
        StreamResponse,
        Task,
        TaskArtifactUpdateEvent,
        TaskStatus,
        TaskStatusUpdateEvent,
    )
    from google.protobuf.message import Message as ProtocolMessage
    from google.protobuf.struct_pb2 import Struct

    from a2a_adapters import AgentReply
    from a2a_adapters_client.access import Access

_ADVICE = {
    states.INPUT_REQUIRED: "is waiting for input",
    states.AUTH_REQUIRED: "is waiting for a login",
    states.FAILED: "failed",
    states.REJECTED: "was rejected",
    states.CANCELED: "was cancelled",
}


class Output:
    """Prints results in the requested format.

    Args:
        access: The options.
        history: Whether text output includes the history of a task.
    """

    def __init__(self, access: Access, *, history: bool = False) -> None:
        self._access = access
        self._formatter = Formatter(verbose=access.verbose, history=history)

    def event(self, response: StreamResponse) -> None:
        """Print an event of a stream."""
        if self._access.is_json:
            self._json(to_dict(response))
        else:
            _lines(self._formatter.response(response))

    def sent(self, response: SendMessageResponse) -> None:
        """Print the answer to a message."""
        if self._access.is_json:
            self._json(to_dict(response))
        elif response.HasField("task"):
            _lines(self._formatter.task(response.task))
        else:
            _lines(self._formatter.message(response.message))
        self.advise(response.task)

    def task(self, task: Task) -> None:
        """Print a task."""
        self.fields(task, self._formatter.task(task))
        self.advise(task)

    def fields(self, message: ProtocolMessage, lines: Iterable[str]) -> None:
        """Print a protocol message as JSON, or the given lines."""
        self.document(to_dict(message), lines)

    def document(self, content: object, lines: Iterable[str]) -> None:
        """Print JSON, or the given lines."""
        if self._access.is_json:
            self._json(content)
        else:
            _lines(lines)

    def advise(self, task: Task, reply: AgentReply | None = None) -> None:
        """Explain on standard error why a task has no answer, and how to proceed.

        Args:
            task: The task.
            reply: The reply to the message, by default what the task contains.
        """
        state = task.status.state
        if state not in _ADVICE:
            return
        note(f"the task {_ADVICE[state]} ({state_name(state)})")
        if state in states.INTERRUPTED:
            version = self._access.a2a_version
            options = ["--a2a-version", version] if version else []
            command = self._access.again("send", "--task-id", task.id, *options)
            if state == states.AUTH_REQUIRED:
                request = login_request(reply or as_reply(task))
                for url in request.urls if request else ():
                    note(f"log in at {one_line(url)}")
                note(f'afterwards: {command} "{LOGGED_IN}"')
            else:
                note(f'answer: {command} "..."')

    def _json(self, content: object) -> None:
        indent = None if self._access.stream else 2
        echo(escaped(json.dumps(content, indent=indent, ensure_ascii=False)))


def _lines(lines: Iterable[str]) -> None:
    for line in lines:
        echo(line)


class Formatter:
    """Formats protocol objects as lines.

    Args:
        verbose: Whether to include metadata and history.
        history: Whether to include the history regardless.
    """

    def __init__(self, *, verbose: bool, history: bool = False) -> None:
        self._verbose = verbose
        self._has_history = verbose or history
        self._known: set[str] = set()

    def response(self, response: StreamResponse) -> Iterator[str]:
        """Yield the lines of an event."""
        match response.WhichOneof("payload"):
            case "task":
                yield from self.task(response.task)
            case "message":
                yield from self.message(response.message)
            case "status_update":
                yield from self._status_update(response.status_update)
            case "artifact_update":
                yield from self._artifact_update(response.artifact_update)

    def task(self, task: Task) -> Iterator[str]:
        """Yield the lines of a task."""
        yield from _ids(task.id, task.context_id)
        yield from self._status(task.status)
        for artifact in task.artifacts:
            yield from self._artifact(artifact)
        for message in task.history if self._has_history else ():
            yield from self._said("History", message)
        yield from self._metadata(task.metadata)

    def message(self, message: Message) -> Iterator[str]:
        """Yield the lines of a message without a task."""
        yield from _ids(message.task_id, message.context_id)
        yield from self._said("Message", message)

    def _status_update(self, update: TaskStatusUpdateEvent) -> Iterator[str]:
        yield from _ids(update.task_id, update.context_id)
        yield from self._status(update.status)
        yield from self._metadata(update.metadata)

    def _artifact_update(self, update: TaskArtifactUpdateEvent) -> Iterator[str]:
        yield from _ids(update.task_id, update.context_id)
        artifact_id = update.artifact.artifact_id
        if artifact_id in self._known and not update.append:
            yield field("Replaces", artifact_id)
        yield from self._artifact(update.artifact)

    def _status(self, status: TaskStatus) -> Iterator[str]:
        yield field("State", state_name(status.state))
        if self._verbose and status.HasField("timestamp"):
            yield field("Timestamp", status.timestamp.ToJsonString())
        if status.HasField("message"):
            yield from self._said("Message", status.message)

    def _said(self, label: str, message: Message) -> Iterator[str]:
        yield field(label, "user" if message.role == Role.ROLE_USER else "agent")
        yield from self._parts(message.parts)
        yield from self._metadata(message.metadata)

    def _artifact(self, artifact: Artifact) -> Iterator[str]:
        self._known.add(artifact.artifact_id)
        yield field("Artifact", artifact.name or artifact.artifact_id)
        if self._verbose and artifact.description:
            yield field("Description", artifact.description)
        yield from self._parts(artifact.parts)
        yield from self._metadata(artifact.metadata)

    def _parts(self, parts: Iterable[Part]) -> Iterator[str]:
        for part in parts:
            if self._verbose and part.media_type:
                yield field("Media-Type", part.media_type)
            match part.WhichOneof("content"):
                case "text":
                    yield from block("Text", part.text)
                case "data":
                    yield from block("Data", _json(from_value(part.data)))
                case "raw":
                    yield field("File", _file(part, f"{len(part.raw)} bytes"))
                case "url":
                    yield field("File", _file(part, part.url))
            yield from self._metadata(part.metadata)

    def _metadata(self, metadata: Struct) -> Iterator[str]:
        if self._verbose and len(metadata.fields):
            yield from block("Metadata", _json(to_dict(metadata)))


def heading(task: Task) -> Iterator[str]:
    """Yield the lines with a task's ids and state; an answer without a task has no state."""
    yield from _ids(task.id, task.context_id)
    if task.id:
        yield field("State", state_name(task.status.state))


def field(label: str, value: object) -> str:
    """Return the line of a field."""
    return f"{label}: {one_line(' '.join(str(value).split()))}"


def block(label: str, text: str) -> Iterator[str]:
    """Yield the lines of a block and a blank line."""
    yield f"{label}:"
    yield text
    yield ""


def state_name(state: TaskState) -> str:
    """Return the protocol's name of a state, the number of an unknown one."""
    try:
        return str(TaskState.Name(state))
    except ValueError:
        return str(state)


def _ids(task_id: str, context_id: str) -> Iterator[str]:
    if task_id:
        yield field("Task", task_id)
    if context_id:
        yield field("Context", context_id)


def _file(part: Part, size: str) -> str:
    return ", ".join(filter(None, (part.filename or "unnamed", part.media_type, size)))


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
