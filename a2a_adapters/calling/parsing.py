"""Parses answers as messages of A2A 1.0, and repairs common deviations.

Known servers omit the zone of timestamps (fasta2a, in 0.3 as well), or answer calls of 1.0 with
unwrapped events and with parts, states and roles of 0.3 (langgraph-api).
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from a2a.types import SendMessageResponse, StreamResponse, Task
from google.protobuf.json_format import ParseDict, ParseError

from a2a_adapters.calling.errors import RemoteAnswerError
from a2a_adapters.contract.text import quote
from a2a_adapters.protocol.parsing import parse_event

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message as ProtocolMessage

M = TypeVar("M", bound="ProtocolMessage")

logger = logging.getLogger(__name__)

_WRAPPERS = {
    "task": "task",
    "message": "message",
    "status-update": "statusUpdate",
    "artifact-update": "artifactUpdate",
}
_OPAQUE = frozenset({"data", "metadata", "text"})
"""Fields whose content belongs to the agent and is left unchanged."""

_ROLES = {"agent": "ROLE_AGENT", "user": "ROLE_USER"}
_OLD_STATE = re.compile(r"[a-z]+(-[a-z]+)?")
_WITHOUT_ZONE = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d{1,9})?)")


def parsed(value: object, message: M) -> M:
    """Parse JSON into a protocol message; unknown fields are ignored.

    Raises:
        RemoteAnswerError: The JSON does not match the message.
    """
    if not isinstance(value, dict):
        raise RemoteAnswerError("the agent's answer is not A2A: it is not a JSON object")
    try:
        return ParseDict(value, message, ignore_unknown_fields=True)
    except ParseError as error:
        raise RemoteAnswerError(f"the agent's answer is not A2A: {quote(str(error))}") from error


class Parsers(NamedTuple):
    """Functions that parse the answers of one protocol version.

    Each raises `RemoteAnswerError` if the JSON is invalid. An event of an unknown kind is logged
    and returned empty.
    """

    sent: Callable[[Any], SendMessageResponse]
    event: Callable[[Any], StreamResponse]
    task: Callable[[Any], Task]


def _sent(result: object) -> SendMessageResponse:
    return parsed(_wrapped(result), SendMessageResponse())


def _event(result: object) -> StreamResponse:
    if isinstance(result, dict) and (frequent := parse_event(result)) is not None:
        return frequent
    found = parsed(_wrapped(result), StreamResponse())
    if found.WhichOneof("payload") is None:
        log_unknown(result)
    return found


def _task(result: object) -> Task:
    return parsed(_repaired(result), Task())


CURRENT = Parsers(_sent, _event, _task)
"""The parsers of A2A 1.0."""


def log_unknown(event: object) -> None:
    """Log that an event of an unknown kind is ignored."""
    fields = ", ".join(event) if isinstance(event, dict) else ""
    logger.warning("ignoring an agent's event of unknown kind with fields: %s", quote(fields))


def _wrapped(result: Any) -> Any:
    """Wrap an event in an object that names its kind."""
    if not isinstance(result, dict):
        return result
    kind = result.get("kind")
    wrapper = _WRAPPERS.get(kind) if isinstance(kind, str) else None
    return _repaired({wrapper: result} if wrapper else result)


def with_zones(value: Any) -> Any:
    """Return JSON of A2A 0.3 with a time zone in each timestamp."""
    if isinstance(value, list):
        return [with_zones(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _with_zones(key, item) for key, item in value.items()}


def _with_zones(key: str, value: Any) -> Any:
    if key in _OPAQUE:
        return value
    if key == "timestamp" and isinstance(value, str):
        return _with_zone(value)
    return with_zones(value)


def _with_zone(timestamp: str) -> str:
    """Return a timestamp with a time zone, by default UTC."""
    found = _WITHOUT_ZONE.fullmatch(timestamp)
    return f"{found[1]}T{found[2]}Z" if found else timestamp


def _repaired(value: Any) -> Any:
    """Return JSON with the fields of the protocol as A2A 1.0 specifies them."""
    if isinstance(value, list):
        return [_repaired(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: _field(key, item) for key, item in value.items()}
    if found.get("kind") == "file" and isinstance(file := found.get("file"), dict):
        return {**found, **_content(file)}
    return found


def _field(key: str, value: Any) -> Any:
    if key in _OPAQUE:
        return value
    if not isinstance(value, str):
        return _repaired(value)
    match key:
        case "timestamp":
            return _with_zone(value)
        case "role":
            return _ROLES.get(value, value)
        case "state" if _OLD_STATE.fullmatch(value):
            return f"TASK_STATE_{value.replace('-', '_').upper()}"
        case _:
            return value


def _content(file: dict[str, Any]) -> dict[str, Any]:
    """Convert a file of 0.3 into the fields of 1.0."""
    names = {"bytes": "raw", "uri": "url", "mimeType": "mediaType", "name": "filename"}
    return {new: file[old] for old, new in names.items() if file.get(old)}
