"""JSON-RPC and HTTP+JSON of A2A 1.0.

a2a-sdk's transports drop the error object of an answer whose HTTP status is not 200, split events
at U+2028, and parse each of them by reflection (seen in 1.3.0). The operations that `RemoteAgent`
uses are implemented here; the others are inherited.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from urllib.parse import quote as quote_path

import httpx
from a2a.client.transports.jsonrpc import JsonRpcTransport as SdkJsonRpcTransport
from a2a.client.transports.rest import RestTransport as SdkRestTransport
from a2a.types import SendMessageRequest
from a2a.utils.errors import A2A_REASON_TO_ERROR, JSON_RPC_ERROR_CODE_MAP

from a2a_adapters.calling.errors import RemoteAgentError, RemoteAnswerError, RemoteRefusedError
from a2a_adapters.calling.failures import BUSY_CODES, BusyError, refusal_text
from a2a_adapters.calling.json_http import JsonHttp
from a2a_adapters.calling.parsing import CURRENT
from a2a_adapters.protocol.encoding import send_to_dict, to_dict
from a2a_adapters.protocol.messages import new_id

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from a2a.client import ClientCallContext
    from a2a.types import (
        AgentCard,
        CancelTaskRequest,
        GetTaskRequest,
        SendMessageResponse,
        StreamResponse,
        SubscribeToTaskRequest,
        Task,
    )

T = TypeVar("T")

_EXTENSIONS = "A2A-Extensions"


class JsonTransport(ABC):
    """The operations that `RemoteAgent` uses, over a binding with JSON.

    In a class's bases, list it before a2a-sdk's transport, which has the other operations.
    """

    version: ClassVar = "1.0"
    _parsers: ClassVar = CURRENT

    def __init__(self, http: httpx.AsyncClient, card: AgentCard, url: str) -> None:
        super().__init__(http, card, url, is_shared_httpx=True)  # type: ignore[call-arg]
        self._json = JsonHttp(http, self._refusal)

    @abstractmethod
    def _refusal(self, body: object) -> RemoteAgentError | None:
        """Return the error that an answer's body contains, or None."""

    @abstractmethod
    def _call(
        self, operation: str, message: Any, headers: dict[str, str], make: Callable[[Any], T]
    ) -> tuple[httpx.Request, Callable[[object], T]]:
        """Return an operation's request, and the function that converts its answer's JSON."""

    async def send_message(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> SendMessageResponse:
        """Send a message and wait for its task or reply."""
        return await self._fetch("SendMessage", request, context, self._parsers.sent)

    def send_message_streaming(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Send a message and yield the events of its task."""
        return self._stream("SendStreamingMessage", request, context)

    def subscribe(
        self, request: SubscribeToTaskRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Yield a task and its further events."""
        return self._stream("SubscribeToTask", request, context)

    async def get_task(
        self, request: GetTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Return a task."""
        return await self._fetch("GetTask", request, context, self._parsers.task)

    async def cancel_task(
        self, request: CancelTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Cancel a task."""
        return await self._fetch("CancelTask", request, context, self._parsers.task)

    async def _fetch(
        self,
        operation: str,
        message: Any,
        context: ClientCallContext | None,
        make: Callable[[Any], T],
    ) -> T:
        return await self._json.fetch(*self._call(operation, message, self._headers(context), make))

    def _stream(
        self, operation: str, message: Any, context: ClientCallContext | None
    ) -> AsyncGenerator[StreamResponse]:
        return self._json.stream(
            *self._call(operation, message, self._headers(context), self._parsers.event)
        )

    def _headers(self, context: ClientCallContext | None) -> dict[str, str]:
        """Return the headers of a call; 0.3 has another name for the extensions header."""
        headers = {"A2A-Version": self.version, **((context and context.service_parameters) or {})}
        if self.version == "0.3" and _EXTENSIONS in headers:
            headers[f"X-{_EXTENSIONS}"] = headers[_EXTENSIONS]
        return headers


class JsonRpc(JsonTransport):
    """The operations of A2A 1.0 over JSON-RPC, mixed into a2a-sdk's transport of any version."""

    url: str

    @cached_property
    def _address(self) -> httpx.URL:
        return httpx.URL(self.url)  # parsing is slow

    def _call(
        self, operation: str, message: Any, headers: dict[str, str], make: Callable[[Any], T]
    ) -> tuple[httpx.Request, Callable[[object], T]]:
        call_id = new_id()
        method, params = self._method(operation, message)
        body = rpc_call(method, params, call_id)
        request = self._json.request("POST", self._address, headers, body)
        if operation in _STREAMS:
            return request, lambda response: make(_found_result(response, call_id) or {})
        return request, lambda response: make(_result(response, call_id))

    def _method(self, operation: str, message: Any) -> tuple[str, dict[str, Any]]:
        """Return an operation's method name and params."""
        is_sent = isinstance(message, SendMessageRequest)
        return operation, send_to_dict(message) if is_sent else to_dict(message)

    def _refusal(self, body: object) -> RemoteAgentError | None:
        return rpc_refusal(body)


class JsonRpcTransport(JsonRpc, SdkJsonRpcTransport):
    """Calls an agent over JSON-RPC."""


def rpc_call(method: str, params: Mapping[str, Any], call_id: str = "") -> dict[str, Any]:
    """Return a JSON-RPC request, by default with a new id."""
    return {"jsonrpc": "2.0", "id": call_id or new_id(), "method": method, "params": params}


def rpc_refusal(response: object) -> RemoteAgentError | None:
    """Return the error that a JSON-RPC response contains, or None."""
    error = response.get("error") if isinstance(response, dict) else None
    if not isinstance(error, dict):
        return None
    given = error.get("code")
    code = given if isinstance(given, int) else 0
    text = refusal_text(error.get("message"), code, error.get("data"))
    if code in BUSY_CODES:
        return BusyError(f"the agent is busy ({code}): {text}")
    return RemoteRefusedError(text, code=code)


def _result(response: object, call_id: str) -> dict[str, Any]:
    if not isinstance(response, dict):
        raise RemoteAnswerError("the agent's answer is not a JSON-RPC response")
    if (result := _found_result(response, call_id)) is None:
        raise RemoteAnswerError("the agent's answer is not a response to this call")
    return result


def _found_result(response: Any, call_id: str) -> dict[str, Any] | None:
    """Return the result in a response to a call, or None.

    Some agents answer with the id null, or with the result alone.
    """
    match response:
        case {"result": dict(result)} if response.get("id") in {None, call_id}:
            return result
        case {"result": _} | {"jsonrpc": _}:
            return None
        case dict() if not response.keys().isdisjoint(_OF_RESULTS):
            return response
        case _:
            return None


_STREAMS = frozenset({"SendStreamingMessage", "SubscribeToTask"})

_OF_RESULTS = frozenset(
    {"artifact", "artifactUpdate", "kind", "message", "messageId", "status", "statusUpdate", "task"}
)
"""Fields of A2A's results; each result has at least one of them."""


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
"""JSON-RPC codes of errors without a reason that A2A defines."""

_CODES_OF_NAMES = {kind.__name__: code for kind, code in JSON_RPC_ERROR_CODE_MAP.items()}


class Rest(JsonTransport):
    """The operations of A2A 1.0 over HTTP+JSON, mixed into a2a-sdk's transport of any version."""

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
        """Return the prefix of an operation's path."""
        return f"/{_in_path(message.tenant)}" if message.tenant else ""

    def _body(self, message: Any) -> dict[str, Any]:
        """Return the body of a request that has one."""
        is_sent = isinstance(message, SendMessageRequest)
        return send_to_dict(message) if is_sent else to_dict(message)

    def _refusal(self, body: object) -> RemoteAgentError | None:
        """Parse an error of A2A 1.0 (section 11.6), or of a2a-sdk's servers of 0.3."""
        match body:
            case {"error": dict(error)}:
                message, code = str(error.get("message", "")), _code(error)
                details = error.get("details")
            case {"type": str(name), "message": str(message)}:
                code, details = _CODES_OF_NAMES.get(name, 0), None
            case _:
                return None
        return RemoteRefusedError(refusal_text(message, code, details), code=code)


class RestTransport(Rest, SdkRestTransport):
    """Calls an agent over HTTP+JSON."""


def _in_path(part: str) -> str:
    """Encode an id as one segment of a path."""
    return quote_path(part, safe="")


def _code(error: dict[str, Any]) -> int:
    """Return the JSON-RPC code of an error, or 0."""
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        reason = detail.get("reason") if isinstance(detail, dict) else None
        if known := A2A_REASON_TO_ERROR.get(str(reason)):
            return JSON_RPC_ERROR_CODE_MAP.get(known, 0)
    return _CODES.get(str(error.get("status")), 0)
