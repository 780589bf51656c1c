"""The frequent messages to and from ProtoJSON, several times faster than by reflection.

`google.protobuf.json_format` looks every field up in the schema. What is sent most, a text
message in and a task out, has few fields: they are written out here. Anything else is left
to `json_format`, and the tests hold both to the same result.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from a2a.types import (
    Artifact,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.timestamp_pb2 import Timestamp

from a2a_adapters.conversion import struct_to_dict

if TYPE_CHECKING:
    from collections.abc import Mapping

_STATE_NAMES = {value: name for name, value in TaskState.items()}
_ROLE_NAMES = {value: name for name, value in Role.items()}
_MESSAGE_FIELDS = {
    "messageId": "message_id",
    "contextId": "context_id",
    "taskId": "task_id",
}


def parse_send(params: dict[str, Any]) -> SendMessageRequest:
    """Return the params of `SendMessage` as a message.

    Raises:
        google.protobuf.json_format.ParseError: A known field has a wrong value.
    """
    if len(params) == 1:
        message = params.get("message")
        if isinstance(message, dict) and (parsed := _parse_message(message)) is not None:
            return SendMessageRequest(message=parsed)
    return ParseDict(params, SendMessageRequest(), ignore_unknown_fields=True)


def _parse_message(message: Mapping[str, Any]) -> Message | None:
    """Parse a message of text parts; None if it is anything else."""
    fields: dict[str, Any] = {}
    for key, value in message.items():
        if key == "parts" and isinstance(value, list):
            if (parts := _parse_texts(value)) is None:
                return None
            fields["parts"] = parts
        elif key == "role" and value == "ROLE_USER":
            fields["role"] = Role.ROLE_USER
        elif key in _MESSAGE_FIELDS and isinstance(value, str):
            fields[_MESSAGE_FIELDS[key]] = value
        else:
            return None
    return Message(**fields)


def _parse_texts(parts: list[Any]) -> list[Part] | None:
    parsed = []
    for part in parts:
        if not isinstance(part, dict) or len(part) != 1 or not isinstance(part.get("text"), str):
            return None
        parsed.append(Part(text=part["text"]))
    return parsed


def parse_stream_response(result: dict[str, Any]) -> StreamResponse:
    """Return an event of a stream as a message. Unknown fields are left out.

    Raises:
        google.protobuf.json_format.ParseError: A known field has a wrong value.
    """
    if len(result) == 1:
        update = result.get("artifactUpdate")
        if isinstance(update, dict) and (parsed := _parse_chunk(update)) is not None:
            return StreamResponse(artifact_update=parsed)
    return ParseDict(result, StreamResponse(), ignore_unknown_fields=True)


def _parse_chunk(update: Mapping[str, Any]) -> TaskArtifactUpdateEvent | None:
    """Parse a chunk of text; None if it is anything else."""
    match update:
        case {
            "taskId": str(task_id),
            "contextId": str(context_id),
            "artifact": {"artifactId": str(artifact_id), "parts": [{"text": str(text)} as part]},
            "append": True,
        } if len(update) == 4 and len(part) == 1 and len(update["artifact"]) == 2:
            return TaskArtifactUpdateEvent(
                task_id=task_id,
                context_id=context_id,
                artifact=Artifact(artifact_id=artifact_id, parts=[Part(text=text)]),
                append=True,
            )
        case _:
            return None


def task_to_dict(task: Task) -> dict[str, Any]:
    """Return a task as ProtoJSON."""
    result: dict[str, Any] = {}
    if task.id:
        result["id"] = task.id
    if task.context_id:
        result["contextId"] = task.context_id
    if task.HasField("status"):
        result["status"] = _status_to_dict(task.status)
    if task.artifacts:
        result["artifacts"] = [_artifact_to_dict(artifact) for artifact in task.artifacts]
    if task.history:
        result["history"] = [message_to_dict(message) for message in task.history]
    if task.HasField("metadata"):
        result["metadata"] = struct_to_dict(task.metadata)
    return result


def message_to_dict(message: Message) -> dict[str, Any]:
    """Return a message as ProtoJSON."""
    result: dict[str, Any] = {}
    if message.message_id:
        result["messageId"] = message.message_id
    if message.context_id:
        result["contextId"] = message.context_id
    if message.task_id:
        result["taskId"] = message.task_id
    if message.role:
        result["role"] = _ROLE_NAMES.get(message.role, message.role)
    if message.parts:
        result["parts"] = [_part_to_dict(part) for part in message.parts]
    if message.HasField("metadata"):
        result["metadata"] = struct_to_dict(message.metadata)
    if message.extensions:
        result["extensions"] = list(message.extensions)
    if message.reference_task_ids:
        result["referenceTaskIds"] = list(message.reference_task_ids)
    return result


def _status_to_dict(status: TaskStatus) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if status.state:
        result["state"] = _STATE_NAMES.get(status.state, status.state)
    if status.HasField("message"):
        result["message"] = message_to_dict(status.message)
    if status.HasField("timestamp"):
        result["timestamp"] = _timestamp_to_json(status.timestamp)
    return result


def _timestamp_to_json(timestamp: Timestamp) -> str:
    nanos = timestamp.nanos
    if nanos % 1000 or not nanos % 1_000_000:  # of other lengths than the usual microseconds
        return timestamp.ToJsonString()
    return f"{_whole_second(timestamp.seconds)}.{nanos // 1000:06d}Z"


@functools.lru_cache(maxsize=16)
def _whole_second(seconds: int) -> str:
    return Timestamp(seconds=seconds).ToJsonString()[:-1]


def _artifact_to_dict(artifact: Artifact) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if artifact.artifact_id:
        result["artifactId"] = artifact.artifact_id
    if artifact.name:
        result["name"] = artifact.name
    if artifact.description:
        result["description"] = artifact.description
    if artifact.parts:
        result["parts"] = [_part_to_dict(part) for part in artifact.parts]
    if artifact.HasField("metadata"):
        result["metadata"] = struct_to_dict(artifact.metadata)
    if artifact.extensions:
        result["extensions"] = list(artifact.extensions)
    return result


def _part_to_dict(part: Part) -> dict[str, Any]:
    if part.WhichOneof("content") != "text" or part.media_type or part.filename:
        return MessageToDict(part)
    if part.HasField("metadata"):
        return MessageToDict(part)
    return {"text": part.text}
