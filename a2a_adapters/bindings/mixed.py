"""Clients that mix the versions, such as fasta2a's: methods and enums of 0.3, shapes of 1.0.

They send `message/send` without a version, and parts as in 1.0, without a `kind`. They read
`result.task`, or `result.artifactUpdate` of a stream, with states and roles as in 0.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a.types import Role, TaskState
from pydantic_core import from_json

from a2a_adapters.bindings import operations, v03_jsonrpc
from a2a_adapters.bindings.operations import Method
from a2a_adapters.protocol.encoding import one_line
from a2a_adapters.protocol.parsing import parse_send

if TYPE_CHECKING:
    from a2a_adapters.bindings.operations import Params

_CONTENTS = {"text", "raw", "url", "data"}
_FREE = ("data", "metadata")
"""Members with values of any shape, whose names are not part of the protocol."""

_OLD_NAMES = {
    name: name.removeprefix(prefix).lower().replace("_", "-")
    for prefix, names in (("ROLE_", Role.keys()), ("TASK_STATE_", TaskState.keys()))
    for name in names
}


def _is_new(part: object) -> bool:
    if not isinstance(part, dict) or "kind" in part or "type" in part:
        return False
    return len(_CONTENTS & part.keys()) == 1


def _old_names(value: Any) -> Any:
    if isinstance(value, list):
        return [_old_names(item) for item in value]
    if not isinstance(value, dict):
        return value
    result = {}
    for key, item in value.items():
        if key in ("state", "role"):
            result[key] = _OLD_NAMES.get(item, item)
        else:
            result[key] = item if key in _FREE else _old_names(item)
    return result


def _method(old: Method, new: Method) -> Method:
    def parse(params: Params) -> Any:
        message = params["message"]
        parts = parse_send({"message": {"parts": message["parts"]}}).message.parts
        request: Any = old.parse({**params, "message": message | {"parts": []}})
        request.message.parts.extend(parts)
        return request

    def encode(result: Any) -> bytes:
        """Return the members of 0.3, plus the one that these clients read."""
        beside = one_line(_old_names(from_json(new.encode(result))))
        return old.encode(result)[:-1] + b"," + beside[1:]

    return Method(old.operation, parse, encode)


_METHODS = {
    "message/send": _method(v03_jsonrpc.METHODS["message/send"], operations.METHODS["SendMessage"]),
    "message/stream": _method(
        v03_jsonrpc.METHODS["message/stream"], operations.METHODS["SendStreamingMessage"]
    ),
}


def method_for(name: str, params: Params) -> Method | None:
    """Return the method that such a client calls; None if the call is of another client."""
    message = params.get("message") if name in _METHODS else None
    parts = message.get("parts") if isinstance(message, dict) and "kind" not in message else None
    is_mixed = isinstance(parts, list) and bool(parts) and all(map(_is_new, parts))
    return _METHODS[name] if is_mixed else None
