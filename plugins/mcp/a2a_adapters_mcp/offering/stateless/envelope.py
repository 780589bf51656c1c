"""One request, checked: what it says of itself has to be what its headers say."""

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
"""The extension of tasks, SEP-2663."""

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
"""What the header `Mcp-Name` repeats."""

RequestId: TypeAlias = str | int


class RpcError(Exception):
    """A request is answered with an error of JSON-RPC."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


@dataclass(frozen=True, slots=True)
class Envelope:
    """A request.

    Attributes:
        id: Its id, which the answer has.
        method: What is to be done.
        params: With what.
        capabilities: What the client can do.
        progress_token: What progress is told with, None if nobody wants to know.
    """

    id: RequestId
    method: str
    params: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    progress_token: RequestId | None

    @property
    def has_tasks(self) -> bool:
        """Whether the client takes a task for a result."""
        extensions = self.capabilities.get("extensions")
        return isinstance(extensions, Mapping) and TASKS in extensions


def is_stateless(headers: Headers, body: object, known: set[str]) -> bool:
    """Tell whether a request is of this protocol, rather than of one that has sessions.

    Args:
        headers: The request's.
        body: Its JSON.
        known: The versions that have sessions.
    """
    version = headers.get(_VERSION_HEADER)
    if version in known:
        return False
    return version is not None or _PROTOCOL in _meta(body)


def request_id(body: object) -> RequestId | None:
    """Return the id of a request, None if it has none that is right."""
    found = body.get("id") if isinstance(body, Mapping) else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def is_notification(body: object) -> bool:
    """Tell whether nobody waits for an answer."""
    return isinstance(body, Mapping) and "id" not in body and isinstance(body.get("method"), str)


def read(body: object, headers: Headers) -> Envelope:
    """Return a request.

    Raises:
        RpcError: It is none, or its headers say something else.
    """
    found = request_id(body)
    if not isinstance(body, Mapping) or found is None or not isinstance(body.get("method"), str):
        raise RpcError(INVALID_REQUEST, "The body has to be one request of JSON-RPC")
    meta = _meta(body)
    if missing := [key for key in (_PROTOCOL, _CAPABILITIES) if key not in meta]:
        raise RpcError(INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}")
    _check_headers(body, meta, headers)
    if meta[_PROTOCOL] != VERSION:
        about = {"supported": [VERSION], "requested": meta[_PROTOCOL]}
        raise RpcError(UNSUPPORTED_VERSION, "Unsupported protocol version", about)
    capabilities = meta[_CAPABILITIES]
    if not isinstance(capabilities, Mapping):
        raise RpcError(INVALID_PARAMS, f"{_CAPABILITIES} has to be an object")
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
    """Refuse a request that is routed by something else than it says (SEP-2243)."""
    said = {_VERSION_HEADER: meta[_PROTOCOL], "mcp-method": body["method"]}
    if (key := _NAMED.get(body["method"])) and key in body["params"]:
        said["mcp-name"] = body["params"][key]
    for header, value in said.items():
        given = headers.getlist(header)
        if len(given) != 1 or _decoded(given[0].strip()) != value:
            raise RpcError(HEADER_MISMATCH, f"The header {header} is not what the body says")


def _decoded(value: str) -> str | None:
    """Return what a header stands for: those that are no ASCII are wrapped base64."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return b64decode(value[len("=?base64?") : -len("?=")], validate=True).decode()
    except (Base64Error, UnicodeDecodeError):
        return None
