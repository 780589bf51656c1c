"""JSON-RPC 2.0, and its methods in A2A 1.0.

a2a-sdk's transport drops the error object of an answer whose HTTP status is not 200, splits
events at U+2028, and parses each of them by reflection (seen in 1.3.0). The calls that
`RemoteAgent` makes are made here; the others are inherited. So it is with the other bindings.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import httpx
from a2a.client.transports.jsonrpc import JsonRpcTransport as SdkTransport
from a2a.types import SendMessageRequest

from a2a_adapters.calling.errors import RemoteAnswerError, RemoteRefusedError
from a2a_adapters.calling.json_http import JsonTransport
from a2a_adapters.contract.text import quote
from a2a_adapters.protocol.messages import new_id
from a2a_adapters.protocol.wire import send_to_dict, to_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")


class JsonRpc(JsonTransport):
    """The methods of A2A 1.0 over JSON-RPC, for a base class of either version."""

    url: str

    @cached_property
    def _address(self) -> httpx.URL:
        return httpx.URL(self.url)  # parsed once: httpx takes long over it

    def _call(
        self, operation: str, message: Any, headers: dict[str, str], make: Callable[[Any], T]
    ) -> tuple[httpx.Request, Callable[[object], T]]:
        call_id = new_id()
        method, params = self._method(operation, message)
        body = rpc_call(method, params, call_id)
        request = self._json.request("POST", self._address, headers, body)
        return request, lambda response: make(_result(response, call_id))

    def _method(self, operation: str, message: Any) -> tuple[str, dict[str, Any]]:
        """Return an operation's method and its params."""
        is_sent = isinstance(message, SendMessageRequest)
        return operation, send_to_dict(message) if is_sent else to_dict(message)

    def _refusal(self, body: object) -> RemoteRefusedError | None:
        return rpc_refusal(body)


class JsonRpcTransport(JsonRpc, SdkTransport):
    """Calls an agent's JSON-RPC interface."""


def rpc_call(method: str, params: Mapping[str, Any], call_id: str = "") -> dict[str, Any]:
    """Return a call; without an id it gets one of its own."""
    return {"jsonrpc": "2.0", "id": call_id or new_id(), "method": method, "params": params}


def rpc_refusal(response: object) -> RemoteRefusedError | None:
    """Return the error that a response holds, None if it holds none."""
    error = response.get("error") if isinstance(response, dict) else None
    if not isinstance(error, dict):
        return None
    code = error.get("code")
    message = f"the agent refused: {quote(str(error.get('message', 'it said no more')))}"
    return RemoteRefusedError(message, code=code if isinstance(code, int) else 0)


def _result(response: object, call_id: str) -> dict[str, Any]:
    if not isinstance(response, dict):
        raise RemoteAnswerError("the agent's answer is not a JSON-RPC response")
    result = response.get("result")
    if not isinstance(result, dict) or response.get("id") != call_id:
        raise RemoteAnswerError("the agent's answer is not a response to this call")
    return result
