"""Converts answers of Agno's servers to A2A events.

Supports three formats: Agno's tasks, whose text is in the history; its streams, whose
text comes as messages, followed by a final status and the whole task; and the bare events and
tasks of Agno-Go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a.types import Artifact, Message, StreamResponse, Task, TaskState, TaskStatus

from a2a_adapters import Data, Part, RemoteAnswerError, Text
from a2a_adapters.dialects import (
    agent_message,
    artifact_response,
    is_corrected,
    new_id,
    status_response,
    to_protocol,
)
from a2a_adapters.plugin import PROGRESS_EXTENSION, tool_arguments
from a2a_adapters_agno.parts import decode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_STATES = {
    "submitted": TaskState.TASK_STATE_SUBMITTED,
    "working": TaskState.TASK_STATE_WORKING,
    "completed": TaskState.TASK_STATE_COMPLETED,
    "failed": TaskState.TASK_STATE_FAILED,
    "canceled": TaskState.TASK_STATE_CANCELED,
    "cancelled": TaskState.TASK_STATE_CANCELED,
    "rejected": TaskState.TASK_STATE_REJECTED,
    "input-required": TaskState.TASK_STATE_INPUT_REQUIRED,
    "auth-required": TaskState.TASK_STATE_AUTH_REQUIRED,
}
_COMPLETED = TaskState.TASK_STATE_COMPLETED
_UNFINISHED = {TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING}
_TOOL_EVENTS = {"tool_call_started": "tool_call", "tool_call_completed": "tool_result"}


def read_task(result: Mapping[str, Any]) -> Task:
    """Return the task in an answer, with its text as an artifact or as the failure reason.

    Raises:
        RemoteAnswerError: There is no task, or it is completed but empty.
    """
    found = result.get("task", result)
    if not isinstance(found, dict) or not isinstance(found.get("id"), str):
        raise RemoteAnswerError("the agent's answer contains no task")
    context_id = found.get("contextId") or found.get("context_id") or ""
    task = Task(id=found["id"], context_id=str(context_id))
    state, parts = _state(found.get("status")), _said(found.get("history"))
    artifacts = [_artifact(each) for each in _dicts(found.get("artifacts"))]
    task.status.CopyFrom(TaskStatus(state=state))
    if state == _COMPLETED:
        if parts:
            task.artifacts.append(Artifact(artifact_id="answer", parts=to_protocol(parts)))
        task.artifacts.extend(artifacts)
        if not task.artifacts:
            raise _nothing_in_it(task.id)
    elif parts and state not in _UNFINISHED:
        task.status.message.CopyFrom(agent_message(parts))
    return task


class StreamReader:
    """Converts the events of a stream to A2A's, without repetition or loss."""

    def __init__(self) -> None:
        self._task_id = ""
        self._context_id = ""
        self._begun: dict[str, None] = {}
        self._streamed: list[Part] = []
        self._final: TaskState | None = None
        self._is_over = False

    def read(self, event: Mapping[str, Any]) -> list[StreamResponse]:
        """Return the A2A events for an event.

        Raises:
            RemoteAnswerError: The agent completed without an answer.
        """
        match event.get("kind"):
            case "status-update":
                self._note_ids(event)
                return self._read_status(event)
            case "message":
                self._note_ids(event)
                return self._read_message(event)
            case "task":
                return self._read_task(event)
            case _ if isinstance(task := event.get("task"), dict):  # instead of a stream
                return self._read_task(task)
            case _ if "status" in event:
                return self._read_bare(event)
            case _:
                return []

    def end(self) -> list[StreamResponse]:
        """Return the A2A events for the end of the stream."""
        if self._final is None or self._is_over:
            return []
        if self._final == _COMPLETED and not self._streamed:
            raise _nothing_in_it(self._task_id)
        return [self._status(self._final)]

    def _note_ids(self, event: Mapping[str, Any]) -> None:
        self._task_id = str(event.get("taskId") or self._task_id)
        self._context_id = str(event.get("contextId") or self._context_id)

    def _read_status(self, event: Mapping[str, Any]) -> list[StreamResponse]:
        state = _state(event.get("status"))
        if event.get("final"):  # the whole task follows
            self._final = state
            return []
        return [self._status(state, _tool_news(event.get("metadata")))]

    def _read_message(self, event: Mapping[str, Any]) -> list[StreamResponse]:
        parts = _parts(event)
        about = event.get("metadata")
        if isinstance(about, dict) and about.get("agno_content_category") == "reasoning":
            return [self._status(TaskState.TASK_STATE_WORKING, agent_message(parts))]
        self._streamed += parts
        return [self._chunk(str(event.get("messageId", "answer")), parts)] if parts else []

    def _read_task(self, event: Mapping[str, Any]) -> list[StreamResponse]:
        """Process the whole task: parts that were not streamed, and the final state."""
        self._is_over = True
        state, said = _state(event.get("status")), _said(event.get("history"))
        self._task_id = str(event.get("id") or self._task_id)
        self._context_id = str(event.get("contextId") or self._context_id)
        before, text = _text(self._streamed), _text(said)
        if state != _COMPLETED:
            withdrawn = self._replaced([]) if before not in text else []
            return [*withdrawn, self._status(state, agent_message(said) if said else None)]
        if before and is_corrected(before, text):
            return [*self._replaced(said), self._status(state)]
        has_text = any(isinstance(part, Text) for part in self._streamed)
        late = [
            part
            for part in said
            if part not in self._streamed and not (has_text and isinstance(part, Text))
        ]
        news = [self._chunk("answer" if not self._begun else "late", late)] if late else []
        news += [self._whole(_artifact(each)) for each in _dicts(event.get("artifacts"))]
        if not news and not self._streamed:
            raise _nothing_in_it(self._task_id)
        return [*news, self._status(state)]

    def _read_bare(self, event: Mapping[str, Any]) -> list[StreamResponse]:
        """Process the single event of an Agno-Go stream."""
        self._note_ids(event)
        self._is_over = True
        state = _state(event.get("status"))
        said = _parts(message) if isinstance(message := event.get("message"), dict) else []
        if state == _COMPLETED:
            if not said:
                raise _nothing_in_it(self._task_id)
            return [self._chunk("answer", said), self._status(state)]
        error = event.get("error")
        if isinstance(error, dict):
            said = [*said, Text(str(error.get("message", "")))]
        return [self._status(state, agent_message(said) if said else None)]

    def _replaced(self, parts: Sequence[Part]) -> list[StreamResponse]:
        """Return the events that replace what was streamed."""
        first, *others = self._begun
        kept = {first: to_protocol(parts)} if parts else {}
        nothing = to_protocol([Text("")])
        return [
            self._whole(Artifact(artifact_id=name, parts=kept.get(name, nothing)))
            for name in (first, *others)
        ]

    def _chunk(self, artifact_id: str, parts: Sequence[Part]) -> StreamResponse:
        append = artifact_id in self._begun
        self._begun[artifact_id] = None
        artifact = Artifact(artifact_id=artifact_id, parts=to_protocol(parts))
        return artifact_response(self._task_id, self._context_id, artifact, append=append)

    def _whole(self, artifact: Artifact) -> StreamResponse:
        return artifact_response(self._task_id, self._context_id, artifact)

    def _status(self, state: TaskState, message: Message | None = None) -> StreamResponse:
        status = TaskStatus(state=state, message=message)
        return status_response(self._task_id, self._context_id, status)


def _nothing_in_it(task_id: str) -> RemoteAnswerError:
    return RemoteAnswerError(
        "the agent completed its task without an answer, which for Agno means a model failure",
        task_id=task_id,
    )


def _state(status: object) -> TaskState:
    name = status.get("state") if isinstance(status, dict) else status
    return _STATES.get(str(name), TaskState.TASK_STATE_UNSPECIFIED)


def _said(history: object) -> list[Part]:
    """Return the agent's last message."""
    messages = [each for each in _dicts(history) if each.get("role") == "agent"]
    return _parts(messages[-1]) if messages else []


def _parts(message: Mapping[str, Any]) -> list[Part]:
    try:
        parts = decode(message.get("parts") or [], wrapped_data=True)
    except ValueError as error:
        raise RemoteAnswerError(f"the agent's message cannot be read: {error}") from error
    return [part for part in parts if not isinstance(part, Text) or part.text]


def _text(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))


def _artifact(artifact: Mapping[str, Any]) -> Artifact:
    return Artifact(
        artifact_id=str(artifact.get("artifactId") or new_id()),
        name=str(artifact.get("name") or ""),
        parts=to_protocol(_parts(artifact)),
    )


def _tool_news(metadata: object) -> Message | None:
    """Return the start or end of a tool call as progress."""
    about = metadata if isinstance(metadata, dict) else {}
    kind = _TOOL_EVENTS.get(str(about.get("agno_event_type")))
    if kind is None:
        return None
    news = {
        "type": kind,
        "id": str(about.get("tool_call_id", "")),
        "name": str(about.get("tool_name", "")),
        "arguments": tool_arguments(about.get("tool_args")),
    }
    message = agent_message([Data(news)])
    message.extensions.append(PROGRESS_EXTENSION)
    return message


def _dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
