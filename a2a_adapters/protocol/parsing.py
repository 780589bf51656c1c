"""Parses ProtoJSON, the frequent messages several times faster than by reflection.

Messages to an agent and events of a stream mostly have few fields, which are listed here. Anything
else, including invalid fields, is left to `google.protobuf.json_format`; tests ensure that both
give the same result. Bytes in JSON are base64 (RFC 4648), in the standard or the URL-safe alphabet,
with or without padding.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

from a2a.types import Role, SendMessageRequest, StreamResponse, TaskState
from a2a.utils.errors import InvalidParamsError
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Message
from pydantic_core import ValidationError

from a2a_adapters.contract.errors import violations
from a2a_adapters.protocol.unknown_names import explain

M = TypeVar("M", bound=Message)
T = TypeVar("T")

_NOT_PROTOCOL = frozenset({"data", "metadata"})
"""Fields whose values belong to the agent."""

_Read: TypeAlias = Callable[[Any], Any]

_UNKNOWN = (LookupError, TypeError, ValueError)
"""Raised by readers for anything unexpected."""

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3])(:[0-9]{2}){2}(\.[0-9]{6})?Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_PER_DAY = 24 * 60 * 60


def parsed(parse: Callable[[T], Message], params: T) -> Any:
    """Return `parse(params)`.

    Raises:
        InvalidParamsError: It raised anything: protobuf and a2a-sdk raise errors of all kinds for
            unexpected values.
    """
    try:
        return parse(params)
    except (InvalidParamsError, MemoryError):
        raise
    except ParseError as error:
        raise InvalidParamsError(str(error)) from error
    except ValidationError as error:
        found = [{"field": place, "message": what} for place, what in violations(error)]
        raise InvalidParamsError(data={"errors": found}) from error
    except Exception as error:
        raise InvalidParamsError from error


def parse_send(params: dict[str, Any]) -> SendMessageRequest:
    """Parse the params of `SendMessage`.

    Raises:
        google.protobuf.json_format.ParseError: A known field has an invalid value.
    """
    try:
        return SendMessageRequest(**_request(params))
    except _UNKNOWN:
        check_bytes(params)
        return parse_request(params, SendMessageRequest)


def parse_request(params: dict[str, Any], kind: type[M]) -> M:
    """Parse the params of a method of A2A 1.0, ignoring unknown fields.

    Raises:
        google.protobuf.json_format.ParseError: A known field has an invalid value, or a field is of
            A2A 0.3 and has another name in 1.0.
    """
    try:
        return ParseDict(params, kind())
    except ParseError:
        explain(params, kind.DESCRIPTOR)
        return ParseDict(params, kind(), ignore_unknown_fields=True)


def parse_event(result: dict[str, Any]) -> StreamResponse | None:
    """Parse an event of a stream; return None if it is not a frequent one."""
    if len(result) != 1:
        return None
    return _text_chunk(result) or _frequent(result)


def _text_chunk(result: dict[str, Any]) -> StreamResponse | None:
    """Parse an event that appends text, the most frequent one; return None for others."""
    try:
        update = result["artifactUpdate"]
        artifact = update["artifact"]
        (part,) = artifact["parts"]
        is_more = (len(update), len(artifact), len(part)) != (4, 2, 1)
        if is_more or update["append"] is not True:
            return None
        event = StreamResponse()  # filled in place, because its constructor would copy each level
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


def _of(**readers: _Read) -> _Read:
    """Return a reader of messages, from the readers of their fields by JSON name."""
    fields = {
        key: (re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", key), read_item)
        for key, read_item in readers.items()
    }

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
    """Return a reader of lists, from the reader of their items."""

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


_ids = {"taskId": _string, "contextId": _string}
_parts = _each(_of(text=_string))
_content = {**_ids, "messageId": _string, "parts": _parts}
_message = _of(**_content, role=dict(Role.items()).__getitem__)
_state = dict(TaskState.items()).__getitem__
_status = _of(state=_state, message=_message, timestamp=_time)
_artifact = _of(artifactId=_string, name=_string, parts=_parts)
_artifacts, _history = _each(_artifact), _each(_message)
_task = _of(id=_string, contextId=_string, status=_status, artifacts=_artifacts, history=_history)
_artifact_update = _of(**_ids, artifact=_artifact, append=_flag, lastChunk=_flag)
_status_update = _of(**_ids, status=_status)
_event = _of(task=_task, artifactUpdate=_artifact_update, statusUpdate=_status_update)
_push = _of(
    tenant=_string,
    id=_string,
    taskId=_string,
    url=_string,
    token=_string,
    authentication=_of(scheme=_string, credentials=_string),
)
_configuration = _of(
    acceptedOutputModes=_each(_string), returnImmediately=_flag, taskPushNotificationConfig=_push
)
_user_message = _of(**_content, role={"ROLE_USER": Role.ROLE_USER}.__getitem__)
_request = _of(message=_user_message, configuration=_configuration)


def standard_base64(text: str) -> str:
    """Convert base64 to the standard alphabet with padding.

    Raises:
        ValueError: It is not base64.
    """
    standard = text.replace("-", "+").replace("_", "/")
    if not standard.endswith("="):
        standard += "=" * (-len(standard) % 4)
    binascii.a2b_base64(standard, strict_mode=True)
    return standard


def check_bytes(message: object, field: str = "raw") -> None:
    """Check that all bytes in a ProtoJSON message are base64.

    protobuf ignores invalid characters, so that any text becomes a file, usually an empty one.

    Raises:
        google.protobuf.json_format.ParseError: A value of `field` is not base64.
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
