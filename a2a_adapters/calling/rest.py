"""HTTP+JSON, and its operations in A2A 1.0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote as quote_path

from a2a.client.transports.rest import RestTransport as SdkTransport
from a2a.types import SendMessageRequest
from a2a.utils.errors import A2A_REASON_TO_ERROR, JSON_RPC_ERROR_CODE_MAP

from a2a_adapters.calling.errors import RemoteRefusedError
from a2a_adapters.calling.json_http import JsonTransport
from a2a_adapters.contract.text import quote
from a2a_adapters.protocol.wire import send_to_dict, to_dict

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

T = TypeVar("T")

_PATHS = {
    "SendMessage": "/message:send",
    "SendStreamingMessage": "/message:stream",
    "SubscribeToTask": "/tasks/{id}:subscribe",
    "GetTask": "/tasks/{id}",
    "CancelTask": "/tasks/{id}:cancel",
}

_CODES = {
    "NOT_FOUND": -32001,
    "UNIMPLEMENTED": -32601,
    "INVALID_ARGUMENT": -32602,
    "INTERNAL": -32603,
}
"""The codes of JSON-RPC for errors that tell no reason of A2A's."""

_CODES_OF_NAMES = {kind.__name__: code for kind, code in JSON_RPC_ERROR_CODE_MAP.items()}


class Rest(JsonTransport):
    """The operations of A2A 1.0 over HTTP+JSON, for a base class of either version."""

    url: str
    _subscribes_by = "POST"

    def _call(
        self, operation: str, message: Any, headers: dict[str, str], make: Callable[[Any], T]
    ) -> tuple[httpx.Request, Callable[[object], T]]:
        method, body, query = "POST", None, None
        path = _PATHS[operation]
        if "{id}" in path:
            path = path.replace("{id}", _in_path(message.id))
        if operation == "GetTask":
            method = "GET"
            if message.HasField("history_length"):
                query = {"historyLength": message.history_length}
        elif operation == "SubscribeToTask":
            method = self._subscribes_by
        else:
            body = self._body(message)
        url = self.url.removesuffix("/") + self._prefix(message) + path
        return self._json.request(method, url, headers, body, query), make

    def _prefix(self, message: Any) -> str:
        """Return the beginning of an operation's path."""
        return f"/{_in_path(message.tenant)}" if message.tenant else ""

    def _body(self, message: Any) -> dict[str, Any]:
        """Return the body of a request that has one."""
        return (
            send_to_dict(message) if isinstance(message, SendMessageRequest) else to_dict(message)
        )

    def _refusal(self, body: object) -> RemoteRefusedError | None:
        """Read an error as A2A 1.0 has it (section 11.6), or as a2a-sdk's servers of 0.3 do."""
        match body:
            case {"error": dict(error)}:
                message, code = str(error.get("message", "it said no more")), _code(error)
            case {"type": str(name), "message": str(message)}:
                code = _CODES_OF_NAMES.get(name, 0)
            case _:
                return None
        return RemoteRefusedError(f"the agent refused: {quote(message)}", code=code)


class RestTransport(Rest, SdkTransport):
    """Calls an agent's HTTP+JSON interface."""


def _in_path(part: str) -> str:
    """Return an id as one part of a path, whatever it holds."""
    return quote_path(part, safe="")


def _code(error: dict[str, Any]) -> int:
    """Return the code of JSON-RPC for an error, 0 if it tells nothing that has one."""
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        reason = detail.get("reason") if isinstance(detail, dict) else None
        if known := A2A_REASON_TO_ERROR.get(str(reason)):
            return JSON_RPC_ERROR_CODE_MAP.get(known, 0)
    return _CODES.get(str(error.get("status")), 0)
