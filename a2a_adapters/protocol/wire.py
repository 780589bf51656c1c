"""The frequent messages to and from ProtoJSON, several times faster than by reflection.

`google.protobuf.json_format` looks every field up in the schema. What is sent most, a text
message in and a task out, has few fields: they are written out here. Anything else is left
to `json_format`, and the tests hold both to the same result.
"""

from __future__ import annotations

import functools
from base64 import b64encode
from typing import TYPE_CHECKING, Any, TypeAlias

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
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.timestamp_pb2 import Timestamp
from pydantic_core import from_json, to_json

from a2a_adapters.protocol.binary import check_bytes
from a2a_adapters.protocol.conversion import from_value, struct_to_dict, whole_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from google.protobuf.message import Message as ProtocolMessage
    from pydantic import BaseModel

_STATE_NAMES = {value: name for name, value in TaskState.items()}
_ROLE_NAMES = {value: name for name, value in Role.items()}
_Fields: TypeAlias = "Mapping[str, tuple[str, Callable[[Any], Any]]]"


def parse_send(params: dict[str, Any]) -> SendMessageRequest:
    """Return the params of `SendMessage` as a message.

    Raises:
        google.protobuf.json_format.ParseError: A known field has a wrong value.
    """
    if (fields := _usual(params, _REQUEST_FIELDS)) is not None:
        return SendMessageRequest(**fields)
    check_bytes(params)
    return ParseDict(params, SendMessageRequest(), ignore_unknown_fields=True)


def send_to_dict(request: SendMessageRequest) -> dict[str, Any]:
    """Return a message to an agent as ProtoJSON, without a configuration that says nothing."""
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


def _usual(content: object, known: _Fields) -> dict[str, Any] | None:
    """Return the fields of a protocol message; None if there is anything unusual."""
    if not isinstance(content, dict):
        return None
    fields: dict[str, Any] = {}
    for key, value in content.items():
        if key not in known:
            return None
        name, read = known[key]
        field = read(value)
        if field is None:
            return None
        fields[name] = field
    return fields


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _user(value: object) -> Role | None:
    return Role.ROLE_USER if value == "ROLE_USER" else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: object) -> list[str] | None:
    is_usual = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return value if is_usual else None  # type: ignore[return-value]


def _text_parts(value: object) -> list[dict[str, str]] | None:
    return value if isinstance(value, list) and all(map(_is_text, value)) else None


def _is_text(part: object) -> bool:
    return isinstance(part, dict) and len(part) == 1 and isinstance(part.get("text"), str)


_MESSAGE_FIELDS: _Fields = {
    "messageId": ("message_id", _text),
    "contextId": ("context_id", _text),
    "taskId": ("task_id", _text),
    "role": ("role", _user),
    "parts": ("parts", _text_parts),
}
_AUTHENTICATION_FIELDS: _Fields = {
    "scheme": ("scheme", _text),
    "credentials": ("credentials", _text),
}
_PUSH_FIELDS: _Fields = {
    "tenant": ("tenant", _text),
    "id": ("id", _text),
    "taskId": ("task_id", _text),
    "url": ("url", _text),
    "token": ("token", _text),
    "authentication": ("authentication", lambda given: _usual(given, _AUTHENTICATION_FIELDS)),
}
_CONFIGURATION_FIELDS: _Fields = {
    "acceptedOutputModes": ("accepted_output_modes", _texts),
    "returnImmediately": ("return_immediately", _flag),
    "taskPushNotificationConfig": (
        "task_push_notification_config",
        lambda given: _usual(given, _PUSH_FIELDS),
    ),
}
_REQUEST_FIELDS: _Fields = {
    "message": ("message", lambda message: _usual(message, _MESSAGE_FIELDS)),
    "configuration": ("configuration", lambda given: _usual(given, _CONFIGURATION_FIELDS)),
}
"""What most requests are made of: what each member is called in protobuf, and how it is read."""


def to_dict(message: ProtocolMessage) -> dict[str, Any]:
    """Return any message as ProtoJSON, with the whole numbers of its values as they came."""
    plain: dict[str, Any] = whole_numbers(MessageToDict(message))
    return plain


def model_to_json(model: BaseModel) -> bytes:
    """Return the JSON of one of a2a-sdk's models of A2A 0.3, whole numbers as they came."""
    json = model.model_dump_json(by_alias=True, exclude_none=True).encode()
    # Whole numbers came through protobuf as floats, and end in ".0".
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
    """Return a new or growing artifact as ProtoJSON."""
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
