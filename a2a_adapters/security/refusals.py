"""Responses to requests that are refused before they reach an agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic_core import to_json
from starlette.responses import Response

from a2a_adapters.protocol.errors import DOMAIN, SERVER_ERROR
from a2a_adapters.protocol.headers import V1, VERSION_HEADER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send


_JSON = "application/json"
_A2A_JSON = "application/a2a+json"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason to refuse a request.

    Attributes:
        status: The HTTP status.
        reason: The name of the corresponding google.rpc.Code.
        message: A text for the caller.
        headers: Additional response headers.
    """

    status: int
    reason: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


OWN_FORM = "a2a_adapters.refusal"
"""Scope key of a dialect's function that returns the HTTP status and body of a refusal."""


async def refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a refusal (ASGI), in the format of the request's binding (A2A 1.0, 9.5 and 11.6)."""
    if own := scope.get(OWN_FORM):
        status, body = own(refusal.status, refusal.message)
        response = Response(to_json(body), status, refusal.headers, media_type=_JSON)
        await response(scope, receive, send)
        return
    is_rpc = _is_rpc(scope)
    content = _rpc_error(refusal) if is_rpc else _http_error(refusal)
    media_type = _JSON if is_rpc or not _is_of_v1(scope) else _A2A_JSON
    response = Response(to_json(content), refusal.status, refusal.headers, media_type=media_type)
    await response(scope, receive, send)


def _is_rpc(scope: Scope) -> bool:
    """Return whether the request is for an agent's own address, and so for JSON-RPC."""
    return bool(scope["path"].endswith(("/", "/rpc")))


def _is_of_v1(scope: Scope) -> bool:
    """Return whether the request is of A2A 1.0, even if its headers were too large to parse."""
    name, value = VERSION_HEADER.encode(), V1.encode()
    return any(key == name and found.startswith(value) for key, found in scope["headers"])


def _rpc_error(refusal: Refusal) -> object:
    error = {"code": SERVER_ERROR, "message": refusal.message, "data": [_info(refusal)]}
    return {"jsonrpc": "2.0", "id": None, "error": error}


def _http_error(refusal: Refusal) -> object:
    status = {"code": refusal.status, "status": refusal.reason, "message": refusal.message}
    return {"error": {**status, "details": [_info(refusal)]}}


def _info(refusal: Refusal) -> object:
    kind = "type.googleapis.com/google.rpc.ErrorInfo"
    return {"@type": kind, "reason": refusal.reason, "domain": DOMAIN}
