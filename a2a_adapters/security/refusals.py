"""Answers to requests that never reach an agent, in the form of the binding they came by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic_core import to_json
from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

DOMAIN = "a2a-adapters"
"""Whose the reasons are that A2A itself has no error for."""

SERVER_ERROR = -32000
"""JSON-RPC's code for errors of a server's own; A2A's begin at -32001 (A2A 1.0, section 9.5)."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused.

    Attributes:
        status: The HTTP status.
        reason: The name of google.rpc.Code that fits best.
        message: What the caller can do.
        headers: Further headers of the answer.
    """

    status: int
    reason: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


async def refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with a refusal (ASGI), in the form of sections 9.5 and 11.6 of A2A 1.0."""
    content = _rpc_error(refusal) if _is_rpc(scope) else _http_error(refusal)
    response = Response(
        to_json(content), refusal.status, refusal.headers, media_type="application/json"
    )
    await response(scope, receive, send)


def _is_rpc(scope: Scope) -> bool:
    """Tell whether the request is JSON-RPC's, which comes to an agent's own address."""
    return bool(scope["path"].endswith("/"))


def _rpc_error(refusal: Refusal) -> object:
    error = {"code": SERVER_ERROR, "message": refusal.message, "data": [_info(refusal)]}
    return {"jsonrpc": "2.0", "id": None, "error": error}


def _http_error(refusal: Refusal) -> object:
    return {
        "error": {
            "code": refusal.status,
            "status": refusal.reason,
            "message": refusal.message,
            "details": [_info(refusal)],
        }
    }


def _info(refusal: Refusal) -> object:
    kind = "type.googleapis.com/google.rpc.ErrorInfo"
    return {"@type": kind, "reason": refusal.reason, "domain": DOMAIN}
