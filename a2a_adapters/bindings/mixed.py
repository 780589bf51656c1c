"""Clients that mix the generations, such as fasta2a's: 0.3's methods and enums, 1.0's shapes.

They send `message/send` without a version, and parts as 1.0 has them, without a `kind`. They read
`result.task` or, of a stream, `result.artifactUpdate`, with states and roles as 0.3 writes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a.types import Role, TaskState
from pydantic_core import from_json

from a2a_adapters.bindings import methods, v03_jsonrpc
from a2a_adapters.bindings.methods import Method
from a2a_adapters.protocol.reading import parse_send
from a2a_adapters.protocol.wire import one_line

if TYPE_CHECKING:
    from a2a_adapters.bindings.methods import Params

_CONTENTS = {"text", "raw", "url", "data"}
_FREE = ("data", "metadata")
"""Members with values of any shape, whose names are not the protocol's."""

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
        """Return the members that 0.3 has, and beside them the one that these clients read."""
        beside = one_line(_old_names(from_json(new.encode(result))))
        return old.encode(result)[:-1] + b"," + beside[1:]

    return Method(old.operation, parse, encode)


_METHODS = {
    "message/send": _method(v03_jsonrpc.METHODS["message/send"], methods.METHODS["SendMessage"]),
    "message/stream": _method(
        v03_jsonrpc.METHODS["message/stream"], methods.METHODS["SendStreamingMessage"]
    ),
}


def method_for(name: str, params: Params) -> Method | None:
    """Return the method that such a client calls; None if the call is another client's.

    Args:
        name: The method of 0.3.
        params: Its parameters.
    """
    message = params.get("message") if name in _METHODS else None
    parts = message.get("parts") if isinstance(message, dict) and "kind" not in message else None
    is_mixed = isinstance(parts, list) and bool(parts) and all(map(_is_new, parts))
    return _METHODS[name] if is_mixed else None
