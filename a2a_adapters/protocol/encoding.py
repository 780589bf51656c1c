"""Serialises messages as ProtoJSON, several times faster than by reflection.

`google.protobuf.json_format` looks each field up in the schema. The few fields of messages and
tasks are listed here; tests ensure that both give the same result.
"""

from __future__ import annotations

import functools
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from a2a.types import (
    Artifact,
    Message,
    Part,
    Role,
    SendMessageRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp
from pydantic_core import from_json, to_json

from a2a_adapters.protocol.conversion import from_value, struct_to_dict, whole_numbers

if TYPE_CHECKING:
    from google.protobuf.message import Message as ProtocolMessage
    from pydantic import BaseModel

_STATE_NAMES = {value: name for name, value in TaskState.items()}
_ROLE_NAMES = {value: name for name, value in Role.items()}


def send_to_dict(request: SendMessageRequest) -> dict[str, Any]:
    """Return a message to an agent as ProtoJSON, without an empty configuration."""
    result: dict[str, Any] = {}
    if request.tenant:
        result["tenant"] = request.tenant
    if request.HasField("message"):
        result["message"] = message_to_dict(request.message)
    if request.configuration.ByteSize():
        result["configuration"] = to_dict(request.configuration)
    if request.HasField("metadata"):
        result["metadata"] = struct_to_dict(request.metadata)
    return result


def to_dict(message: ProtocolMessage) -> dict[str, Any]:
    """Return any message as ProtoJSON, with whole numbers as int."""
    plain: dict[str, Any] = whole_numbers(MessageToDict(message))
    return plain


def model_to_json(model: BaseModel) -> bytes:
    """Return the JSON of an a2a-sdk model of A2A 0.3, with whole numbers as int."""
    json = model.model_dump_json(by_alias=True, exclude_none=True).encode()
    # Protobuf turns whole numbers into floats, which end in ".0".
    return to_json(whole_numbers(from_json(json))) if b".0" in json else json


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


def status_update_to_dict(event: TaskStatusUpdateEvent) -> dict[str, Any]:
    """Return a change of a task's status as ProtoJSON."""
    result: dict[str, Any] = {}
    if event.task_id:
        result["taskId"] = event.task_id
    if event.context_id:
        result["contextId"] = event.context_id
    if event.HasField("status"):
        result["status"] = _status_to_dict(event.status)
    if event.HasField("metadata"):
        result["metadata"] = struct_to_dict(event.metadata)
    return result


def artifact_update_to_dict(event: TaskArtifactUpdateEvent) -> dict[str, Any]:
    """Return an artifact, or a chunk of one, as ProtoJSON."""
    result: dict[str, Any] = {}
    if event.task_id:
        result["taskId"] = event.task_id
    if event.context_id:
        result["contextId"] = event.context_id
    if event.HasField("artifact"):
        result["artifact"] = _artifact_to_dict(event.artifact)
    if event.append:
        result["append"] = True
    if event.last_chunk:
        result["lastChunk"] = True
    if event.HasField("metadata"):
        result["metadata"] = struct_to_dict(event.metadata)
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
    if nanos % 1000 or not nanos % 1_000_000:  # not the usual precision of microseconds
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
    result: dict[str, Any] = {}
    match part.WhichOneof("content"):
        case "text":
            result["text"] = part.text
        case "data":
            result["data"] = from_value(part.data)
        case "url":
            result["url"] = part.url
        case "raw":
            result["raw"] = b64encode(part.raw).decode()
    if part.HasField("metadata"):
        result["metadata"] = struct_to_dict(part.metadata)
    if part.filename:
        result["filename"] = part.filename
    if part.media_type:
        result["mediaType"] = part.media_type
    return result


def text_chunk_head(task_id: str, context_id: str, artifact_id: str) -> bytes:
    """Return the JSON that all chunks of a text artifact begin with."""
    ids = one_line({"taskId": task_id, "contextId": context_id})[:-1]
    artifact = b'"artifact":{"artifactId":%b,"parts":[{"text":' % one_line(artifact_id)
    return b'{"artifactUpdate":%b,%b' % (ids, artifact)


def text_chunk_to_json(head: bytes, text: str) -> bytes:
    """Return a chunk of text, but not the last one, as the JSON of a `StreamResponse`."""
    return head + one_line(text) + b'}]},"append":true}}'


def one_line(value: object) -> bytes:
    """Return `value` as JSON on one line, without Unicode line separators.

    Clients that read streams line by line often split at these separators, as Python's
    `str.splitlines` and so httpx do.
    """
    return escaped(to_json(value))


def escaped(json: bytes) -> bytes:
    """Return JSON with escaped Unicode line separators."""
    return (
        json.replace(b"\xe2\x80\xa8", b"\\u2028")
        .replace(b"\xe2\x80\xa9", b"\\u2029")
        .replace(b"\xc2\x85", b"\\u0085")
    )
