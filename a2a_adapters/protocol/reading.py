"""From ProtoJSON to messages; what is frequent several times faster than by reflection.

Messages to an agent and events of a stream mostly have few fields, which are written out here.
Anything else, wrong fields as well, is left to `google.protobuf.json_format`, and the tests hold
both to the same result. Bytes in JSON are base64 (RFC 4648), in the standard or the URL-safe
alphabet, padded or not.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from a2a.types import Role, SendMessageRequest, StreamResponse, TaskState
from google.protobuf.json_format import ParseDict, ParseError

_NOT_PROTOCOL = frozenset({"data", "metadata"})
"""Fields that hold values of an agent's own."""

_Read: TypeAlias = Callable[[Any], Any]
_Fields: TypeAlias = Mapping[str, tuple[str, _Read]]
"""By the name of each field in JSON, that in protobuf and what reads it."""

_UNKNOWN = (LookupError, TypeError, ValueError)
"""What reading raises at anything that is not expected here."""

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3])(:[0-9]{2}){2}(\.[0-9]{6})?Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_PER_DAY = 24 * 60 * 60


def parse_send(params: dict[str, Any]) -> SendMessageRequest:
    """Return the params of `SendMessage` as a message.

    Raises:
        google.protobuf.json_format.ParseError: A known field has a wrong value.
    """
    try:
        return SendMessageRequest(**_request(params))
    except _UNKNOWN:
        check_bytes(params)
        return ParseDict(params, SendMessageRequest(), ignore_unknown_fields=True)


def parse_event(result: dict[str, Any]) -> StreamResponse | None:
    """Return an event of a stream; None if it is not one of the frequent ones."""
    if len(result) != 1:
        return None
    return _text_chunk(result) or _frequent(result)


def _text_chunk(result: dict[str, Any]) -> StreamResponse | None:
    """Return an event that appends text, as most of a stream does; None if it is another."""
    try:
        update = result["artifactUpdate"]
        artifact = update["artifact"]
        (part,) = artifact["parts"]
        is_more = (len(update), len(artifact), len(part)) != (4, 2, 1)
        if is_more or update["append"] is not True:
            return None
        event = StreamResponse()  # filled in place: its constructor would copy each level
        chunk = event.artifact_update
        chunk.task_id = update["taskId"]
        chunk.context_id = update["contextId"]
        chunk.artifact.artifact_id = artifact["artifactId"]
        chunk.artifact.parts.add().text = part["text"]
        chunk.append = True
    except _UNKNOWN:
        return None
    return event


def _frequent(result: dict[str, Any]) -> StreamResponse | None:
    try:
        return StreamResponse(**_event(result))
    except _UNKNOWN:
        return None


def _of(fields: _Fields) -> _Read:
    """Return what reads a message of these fields."""

    def read(value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise TypeError
        found = {}
        for key, item in value.items():
            name, read_item = fields[key]
            found[name] = read_item(item)
        return found

    return read


def _each(read: _Read) -> _Read:
    """Return what reads a list."""

    def read_all(value: object) -> list[Any]:
        if not isinstance(value, list):
            raise TypeError
        return [read(item) for item in value]

    return read_all


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _time(value: str) -> dict[str, int]:
    if not _TIME.fullmatch(value):
        raise ValueError
    since = datetime.fromisoformat(value) - _EPOCH
    seconds = since.days * _SECONDS_PER_DAY + since.seconds
    return {"seconds": seconds, "nanos": since.microseconds * 1000}


_ids: _Fields = {"taskId": ("task_id", _string), "contextId": ("context_id", _string)}
_parts = _each(_of({"text": ("text", _string)}))
_said: _Fields = {**_ids, "messageId": ("message_id", _string), "parts": ("parts", _parts)}
_message = _of({**_said, "role": ("role", dict(Role.items()).__getitem__)})
_status = _of(
    {
        "state": ("state", dict(TaskState.items()).__getitem__),
        "message": ("message", _message),
        "timestamp": ("timestamp", _time),
    }
)
_artifact = _of(
    {
        "artifactId": ("artifact_id", _string),
        "name": ("name", _string),
        "parts": ("parts", _parts),
    }
)
_task = _of(
    {
        "id": ("id", _string),
        "contextId": ("context_id", _string),
        "status": ("status", _status),
        "artifacts": ("artifacts", _each(_artifact)),
        "history": ("history", _each(_message)),
    }
)
_artifact_update = _of(
    {
        **_ids,
        "artifact": ("artifact", _artifact),
        "append": ("append", _flag),
        "lastChunk": ("last_chunk", _flag),
    }
)
_event = _of(
    {
        "task": ("task", _task),
        "artifactUpdate": ("artifact_update", _artifact_update),
        "statusUpdate": ("status_update", _of({**_ids, "status": ("status", _status)})),
    }
)
_push = _of(
    {
        "tenant": ("tenant", _string),
        "id": ("id", _string),
        "taskId": ("task_id", _string),
        "url": ("url", _string),
        "token": ("token", _string),
        "authentication": (
            "authentication",
            _of({"scheme": ("scheme", _string), "credentials": ("credentials", _string)}),
        ),
    }
)
_configuration = _of(
    {
        "acceptedOutputModes": ("accepted_output_modes", _each(_string)),
        "returnImmediately": ("return_immediately", _flag),
        "taskPushNotificationConfig": ("task_push_notification_config", _push),
    }
)
_user_message = _of({**_said, "role": ("role", {"ROLE_USER": Role.ROLE_USER}.__getitem__)})
_request = _of(
    {
        "message": ("message", _user_message),
        "configuration": ("configuration", _configuration),
    }
)


def standard_base64(text: str) -> str:
    """Return base64 in the standard alphabet and padded.

    Raises:
        ValueError: It is no base64.
    """
    standard = text.replace("-", "+").replace("_", "/")
    if not standard.endswith("="):
        standard += "=" * (-len(standard) % 4)
    binascii.a2b_base64(standard, strict_mode=True)
    return standard


def check_bytes(message: object, field: str = "raw") -> None:
    """Refuse bytes that are no base64, anywhere in a message of ProtoJSON.

    protobuf skips over characters that do not belong to it: of anything comes a file, mostly
    an empty one.

    Raises:
        google.protobuf.json_format.ParseError: What `field` holds is no base64.
    """
    if isinstance(message, list):
        for item in message:
            check_bytes(item, field)
    elif isinstance(message, dict):
        for key, value in message.items():
            if key == field and isinstance(value, str):
                _check(value, field)
            elif key not in _NOT_PROTOCOL:
                check_bytes(value, field)


def _check(text: str, field: str) -> None:
    try:
        standard_base64(text)
    except ValueError as error:
        raise ParseError(f"{field} is not base64") from error
