"""What is nearly A2A 1.0, as A2A 1.0.

Servers in the field leave out the zone of a timestamp (fasta2a, in 0.3 as well), or answer calls
of 1.0 by events without their wrapper and by parts, states and roles of 0.3 (langgraph-api).
"""

from __future__ import annotations

import logging
import re
from typing import Any

from a2a.types import StreamResponse

from a2a_adapters.calling.json_http import parsed
from a2a_adapters.protocol.reading import parse_event
from a2a_adapters.protocol.shown import quote

logger = logging.getLogger(__name__)

_WRAPPERS = {
    "task": "task",
    "message": "message",
    "status-update": "statusUpdate",
    "artifact-update": "artifactUpdate",
}
_OPAQUE = frozenset({"data", "metadata", "text"})
"""Whose content is the agent's own."""

_ROLES = {"agent": "ROLE_AGENT", "user": "ROLE_USER"}
_OLD_STATE = re.compile(r"[a-z]+(-[a-z]+)?")
_WITHOUT_ZONE = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d{1,9})?)")


def response(result: Any) -> StreamResponse:
    """Return an event of a stream; one of no known kind is empty, and told of in the log.

    Raises:
        RemoteAnswerError: It is not an event of A2A.
    """
    if isinstance(result, dict) and (frequent := parse_event(result)) is not None:
        return frequent
    found = parsed(event(result), StreamResponse())
    if found.WhichOneof("payload") is None:
        tell_unknown(result)
    return found


def tell_unknown(result: dict[str, Any]) -> None:
    """Log that an event is left out, since nothing of it is known."""
    logger.warning("an event of an agent is of no known kind: %s", quote(", ".join(result)))


def event(result: Any) -> Any:
    """Return an event in the wrapper that tells what it is."""
    if not isinstance(result, dict):
        return result
    kind = result.get("kind")
    wrapper = _WRAPPERS.get(kind) if isinstance(kind, str) else None
    return mended({wrapper: result} if wrapper else result)


def dated(value: Any) -> Any:
    """Return JSON of A2A 0.3 with the zones of its timestamps."""
    if isinstance(value, list):
        return [dated(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _dated(key, item) for key, item in value.items()}


def _dated(key: str, value: Any) -> Any:
    if key in _OPAQUE:
        return value
    if key == "timestamp" and isinstance(value, str):
        return with_zone(value)
    return dated(value)


def with_zone(timestamp: str) -> str:
    """Return a timestamp that has a zone; one without is taken as UTC."""
    found = _WITHOUT_ZONE.fullmatch(timestamp)
    return f"{found[1]}T{found[2]}Z" if found else timestamp


def mended(value: Any) -> Any:
    """Return JSON of the protocol's own fields as the specification wants it."""
    if isinstance(value, list):
        return [mended(item) for item in value]
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
        return mended(value)
    match key:
        case "timestamp":
            return with_zone(value)
        case "role":
            return _ROLES.get(value, value)
        case "state" if _OLD_STATE.fullmatch(value):
            return f"TASK_STATE_{value.replace('-', '_').upper()}"
        case _:
            return value


def _content(file: dict[str, Any]) -> dict[str, Any]:
    """Return a file of 0.3 in the fields of 1.0."""
    names = {"bytes": "raw", "uri": "url", "mimeType": "mediaType", "name": "filename"}
    return {new: file[old] for old, new in names.items() if file.get(old)}
