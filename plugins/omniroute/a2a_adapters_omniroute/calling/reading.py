"""Converts a gateway's results and events to A2A, and those without an answer to errors."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from a2a.types import Artifact, StreamResponse, Task, TaskState, TaskStatus

from a2a_adapters import File, Part, Text
from a2a_adapters.dialects import (
    Answer,
    agent_message,
    artifact_response,
    status_response,
    to_protocol,
    to_struct,
)
from a2a_adapters_omniroute.calling.failure import NO_PROVIDER, failure
from a2a_adapters_omniroute.calling.reply import OmniRouteReply
from a2a_adapters_omniroute.errors import (
    OmniRouteAnswerError,
    OmniRouteBudgetError,
    OmniRouteCancelledError,
    OmniRouteError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_STATES = {
    "submitted": TaskState.TASK_STATE_SUBMITTED,
    "pending": TaskState.TASK_STATE_SUBMITTED,
    "working": TaskState.TASK_STATE_WORKING,
    "completed": TaskState.TASK_STATE_COMPLETED,
    "failed": TaskState.TASK_STATE_FAILED,
    "cancelled": TaskState.TASK_STATE_CANCELED,
}
_ENDED = {_STATES["completed"], _STATES["failed"], _STATES["cancelled"]}


def read_task(result: Mapping[str, Any]) -> Task:
    """Return the task in a result; some servers do not nest it.

    Its metadata is the gateway's, including the state changes (`events`).

    Raises:
        OmniRouteAnswerError: The result has no task.
    """
    task = result["task"] if isinstance(result.get("task"), dict) else result
    task_id, state = task.get("id"), task.get("state")
    if not isinstance(task_id, str) or not isinstance(state, str):
        raise OmniRouteAnswerError("the gateway's answer contains no task")
    artifacts = _mappings(result.get("artifacts")) or _mappings(task.get("artifacts"))
    metadata = _mapping(result.get("metadata")) or _mapping(task.get("metadata"))
    events = _mappings(task.get("events"))
    read = Task(
        id=task_id,
        status=TaskStatus(state=_STATES.get(state, TaskState.TASK_STATE_UNSPECIFIED)),
        artifacts=[_artifact(n, part) for n, each in enumerate(artifacts) if (part := _part(each))],
        metadata=to_struct({**metadata, **({"events": events} if events else {})}),
    )
    if state == "failed":
        reasons = [metadata.get("error"), *(event.get("message") for event in reversed(events))]
        reason = next((each for each in reasons if isinstance(each, str)), "")
        read.status.message.CopyFrom(agent_message([Text(reason)]))
    return read


def read_answer(result: Mapping[str, Any]) -> Task:
    """Return the task of a successful answer.

    Raises:
        OmniRouteError: There is no answer; the subclass says why.
    """
    task = read_task(result)
    if task.status.state in _ENDED:
        _check(task)
    return task


def read_error(error: OmniRouteError, data: object) -> OmniRouteError:
    """Attach the task in an error's optional `data`."""
    try:
        return with_reply(error, _reply(read_task(_mapping(data))))
    except OmniRouteAnswerError:
        return error


class StreamReader:
    """Converts the events of a stream to A2A's."""

    def __init__(self) -> None:
        self._task_id = ""
        self._parts: list[Part] = []
        self._has_text = False

    def read(self, event: Mapping[str, Any]) -> list[StreamResponse]:
        """Return the A2A events for an event.

        Raises:
            OmniRouteError: The task ended without an answer; the subclass says why.
        """
        task = read_task(event)
        if part := _part(_mapping(event.get("chunk"))):
            responses = [self._chunk(task.id, part)]
        elif self._parts:
            responses = []
        else:
            responses = [artifact_response(task.id, "", each) for each in task.artifacts]
        if not self._task_id or task.status.state != TaskState.TASK_STATE_WORKING:
            responses.append(status_response(task.id, "", task.status, task.metadata))
        self._task_id = task.id
        if task.status.state in _ENDED:
            self._check(task)
        return responses

    def _chunk(self, task_id: str, part: Part) -> StreamResponse:
        self._parts.append(part)
        if not isinstance(part, Text):
            return artifact_response(task_id, "", _artifact(len(self._parts), part))
        append, self._has_text = self._has_text, True
        return artifact_response(task_id, "", _artifact(0, part), append=append)

    def _check(self, task: Task) -> None:
        if self._parts:
            del task.artifacts[:]
            task.artifacts.append(Artifact(artifact_id="answer", parts=to_protocol(self._parts)))
        _check(task)


def _check(task: Task) -> None:
    """Raise the error of a task that ended without an answer."""
    checked(_reply(task))


def _reply(task: Task) -> OmniRouteReply:
    answer = Answer()
    answer.fold_task(task)
    return OmniRouteReply.of(answer.finish()[1])


def _artifact(number: int, part: Part) -> Artifact:
    artifact_id = f"result-{number}" if number else "answer"
    return Artifact(artifact_id=artifact_id, parts=to_protocol([part]))


def _part(artifact: Mapping[str, Any]) -> Part | None:
    """Return the content of an artifact or chunk; None if it is empty."""
    match artifact:
        case {"type": "file", "content": str(content)} if content:
            media_type, name = artifact.get("mimeType") or "", artifact.get("name") or ""
            return _file(content, str(media_type), str(name))
        case {"content": str(content)} if content:
            return Text(content)
        case _:
            return None


def _file(content: str, media_type: str, name: str) -> File:
    if content.startswith(("http://", "https://")):
        return File(url=content, media_type=media_type, filename=name)
    try:
        read = base64.b64decode(content, validate=True)
    except ValueError as error:
        raise OmniRouteAnswerError("a file in the gateway's answer is not base64") from error
    return File(content=read, media_type=media_type, filename=name)


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def checked(reply: OmniRouteReply) -> OmniRouteReply:
    """Return the answer of a finished task.

    Raises:
        OmniRouteError: The task has no answer; the subclass says why.
    """
    if error := _error(reply):
        raise with_reply(error, reply)
    return reply


def with_reply(error: OmniRouteError, reply: OmniRouteReply) -> OmniRouteError:
    """Attach the gateway's reply to an error."""
    error.reply, error.task_id = reply, reply.task_id
    return error


def _error(reply: OmniRouteReply) -> OmniRouteError | None:
    if reply.state == "canceled":
        return OmniRouteCancelledError("the task was cancelled")
    if reply.policy_verdict.get("allowed") is False:
        reason = reply.policy_verdict.get("reason", "no reason given")
        return OmniRouteBudgetError(
            f"the gateway's policy refuses the call: {reason}; raise the budget, or use a "
            "cheaper model or combo"
        )
    if reply.state == "failed":
        retryable = reply.metadata.get("error_code") == NO_PROVIDER
        texts = [part.text for part in reply.status_parts if isinstance(part, Text)]
        return failure("\n".join(texts) or "no reason given", retryable=retryable)
    return None if reply.parts else OmniRouteAnswerError("the gateway's answer is empty")
