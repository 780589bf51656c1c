"""A parsed request whose body and headers are consistent."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp.types import INVALID_PARAMS, INVALID_REQUEST

if TYPE_CHECKING:
    from starlette.datastructures import Headers

VERSION = "2026-07-28"
TASKS = "io.modelcontextprotocol/tasks"
"""The tasks extension, SEP-2663."""

HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

_KEY = "io.modelcontextprotocol/"
_PROTOCOL, _CAPABILITIES = f"{_KEY}protocolVersion", f"{_KEY}clientCapabilities"
_VERSION_HEADER = "mcp-protocol-version"
_NAMED = {
    "tools/call": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""Params repeated in the header `Mcp-Name`, by method."""

RequestId: TypeAlias = str | int


class RpcError(Exception):
    """A JSON-RPC error to send."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


@dataclass(frozen=True, slots=True)
class Envelope:
    """A request.

    Attributes:
        id: Id of the request.
        method: Name of the method.
        params: Params of the method.
        capabilities: The client's capabilities.
        progress_token: Token for progress, None if not requested.
    """

    id: RequestId
    method: str
    params: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    progress_token: RequestId | None

    @property
    def has_tasks(self) -> bool:
        """Whether the client accepts a task as result."""
        extensions = self.capabilities.get("extensions")
        return isinstance(extensions, Mapping) and TASKS in extensions


def is_stateless(headers: Headers, body: object, known: set[str]) -> bool:
    """Return whether a request uses this protocol instead of one with sessions.

    Args:
        headers: Headers of the request.
        body: Parsed body.
        known: Versions with sessions.
    """
    version = headers.get(_VERSION_HEADER)
    if version in known:
        return False
    return version is not None or _PROTOCOL in _meta(body)


def request_id(body: object) -> RequestId | None:
    """Return the id of a request, None if missing or invalid."""
    found = body.get("id") if isinstance(body, Mapping) else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def is_notification(body: object) -> bool:
    """Return whether a message is a notification."""
    return isinstance(body, Mapping) and "id" not in body and isinstance(body.get("method"), str)


def read(body: object, headers: Headers) -> Envelope:
    """Parse a request.

    Raises:
        RpcError: It is invalid, or its headers contradict it.
    """
    found = request_id(body)
    if not isinstance(body, Mapping) or found is None or not isinstance(body.get("method"), str):
        raise RpcError(INVALID_REQUEST, "The body must be a single JSON-RPC request")
    meta = _meta(body)
    if missing := [key for key in (_PROTOCOL, _CAPABILITIES) if key not in meta]:
        raise RpcError(INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}")
    _check_headers(body, meta, headers)
    if meta[_PROTOCOL] != VERSION:
        about = {"supported": [VERSION], "requested": meta[_PROTOCOL]}
        raise RpcError(UNSUPPORTED_VERSION, "Unsupported protocol version", about)
    capabilities = meta[_CAPABILITIES]
    if not isinstance(capabilities, Mapping):
        raise RpcError(INVALID_PARAMS, f"{_CAPABILITIES} must be an object")
    token = meta.get("progressToken")
    is_token = isinstance(token, str | int)
    return Envelope(
        found, body["method"], body["params"], capabilities, token if is_token else None
    )


def _meta(body: object) -> Mapping[str, Any]:
    params = body.get("params") if isinstance(body, Mapping) else None
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    return meta if isinstance(meta, Mapping) else {}


def _check_headers(body: Mapping[str, Any], meta: Mapping[str, Any], headers: Headers) -> None:
    """Refuse a request whose routing headers contradict its body (SEP-2243)."""
    said = {_VERSION_HEADER: meta[_PROTOCOL], "mcp-method": body["method"]}
    if (key := _NAMED.get(body["method"])) and key in body["params"]:
        said["mcp-name"] = body["params"][key]
    for header, value in said.items():
        given = headers.getlist(header)
        if len(given) != 1 or _decoded(given[0].strip()) != value:
            raise RpcError(HEADER_MISMATCH, f"The header {header} does not match the body")


def _decoded(value: str) -> str | None:
    """Decode a header; non-ASCII values are wrapped in base64."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return b64decode(value[len("=?base64?") : -len("?=")], validate=True).decode()
    except (Base64Error, UnicodeDecodeError):
        return None
