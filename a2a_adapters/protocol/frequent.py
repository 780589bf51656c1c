"""The frequent events of a stream from ProtoJSON, several times faster than by reflection.

They have few fields, which are written out here. Anything else, wrong fields as well, is left to
`google.protobuf.json_format`, and the tests hold both to the same result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from a2a.types import Role, StreamResponse, TaskState

_Read: TypeAlias = Callable[[Any], Any]
_Fields: TypeAlias = Mapping[str, tuple[str, _Read]]
"""By the name of each field in JSON, that in protobuf and what reads it."""

_UNKNOWN = (LookupError, TypeError, ValueError)
"""What reading raises at anything that is not expected here."""

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3])(:[0-9]{2}){2}(\.[0-9]{6})?Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_PER_DAY = 24 * 60 * 60


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
_message = _of(
    {
        **_ids,
        "messageId": ("message_id", _string),
        "role": ("role", dict(Role.items()).__getitem__),
        "parts": ("parts", _parts),
    }
)
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
