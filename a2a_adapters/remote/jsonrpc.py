"""JSON-RPC to an agent of A2A 1.0.

a2a-sdk's transport drops the error object of an answer whose HTTP status is not 200, splits
events at U+2028, and parses each of them by reflection (seen in 1.3.0). The calls that
`RemoteAgent` makes are made here; the others are inherited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a.client.transports.jsonrpc import JsonRpcTransport as SdkTransport
from a2a.types import SendMessageResponse, StreamResponse, Task
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from pydantic_core import from_json, to_json

from a2a_adapters.errors import RemoteAnswerError, RemoteRefusedError
from a2a_adapters.ids import new_id
from a2a_adapters.remote.failure import UNAUTHORIZED
from a2a_adapters.remote.quoting import quote
from a2a_adapters.remote.sse import event_data
from a2a_adapters.wire import parse_stream_response

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx
    from a2a.client import ClientCallContext
    from a2a.types import (
        CancelTaskRequest,
        GetTaskRequest,
        SendMessageRequest,
        SubscribeToTaskRequest,
    )
    from google.protobuf.message import Message as ProtocolMessage

_HEADERS = {"A2A-Version": "1.0", "Content-Type": "application/json"}
_TOLD_BY_STATUS = UNAUTHORIZED | {429, 503}
"""What the HTTP status says better than the body: other credentials, or another time."""

_EVENT_STREAM = "text/event-stream"


class JsonRpcTransport(SdkTransport):
    """Calls an agent's JSON-RPC interface."""

    async def send_message(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> SendMessageResponse:
        """Send a message and wait for the task or message that answers it."""
        result = await self._call("SendMessage", request, context)
        return ParseDict(result, SendMessageResponse(), ignore_unknown_fields=True)

    async def send_message_streaming(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Send a message and yield what happens to its task."""
        async for event in self._stream("SendStreamingMessage", request, context):
            yield event

    async def subscribe(
        self, request: SubscribeToTaskRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Yield a task and what happens to it."""
        async for event in self._stream("SubscribeToTask", request, context):
            yield event

    async def get_task(
        self, request: GetTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Return a task."""
        result = await self._call("GetTask", request, context)
        return ParseDict(result, Task(), ignore_unknown_fields=True)

    async def cancel_task(
        self, request: CancelTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Cancel a task."""
        result = await self._call("CancelTask", request, context)
        return ParseDict(result, Task(), ignore_unknown_fields=True)

    async def _call(
        self, method: str, params: ProtocolMessage, context: ClientCallContext | None
    ) -> dict[str, Any]:
        call = _Call(method, params)
        response = await self.httpx_client.send(self._request(call, context))
        return call.result(response)

    async def _stream(
        self, method: str, params: ProtocolMessage, context: ClientCallContext | None
    ) -> AsyncGenerator[StreamResponse]:
        call = _Call(method, params)
        request = self._request(call, context)
        request.headers["Accept"] = _EVENT_STREAM
        response = await self.httpx_client.send(request, stream=True)
        try:
            if not response.headers.get("content-type", "").startswith(_EVENT_STREAM):
                await response.aread()
                yield _event(call.result(response))
                return
            async for data in event_data(response.aiter_bytes()):
                yield _event(call.checked(_parsed(data)))
        finally:
            await response.aclose()

    def _request(self, call: _Call, context: ClientCallContext | None) -> httpx.Request:
        headers = _HEADERS
        if context and context.service_parameters:
            headers = {**headers, **context.service_parameters}
        return self.httpx_client.build_request(
            "POST", self.url, content=call.body(), headers=headers
        )


class _Call:
    """One JSON-RPC request, and what may come back for it."""

    def __init__(self, method: str, params: ProtocolMessage) -> None:
        self._id = new_id()
        self._method = method
        self._params = params

    def body(self) -> bytes:
        params = MessageToDict(self._params)
        call = {"jsonrpc": "2.0", "id": self._id, "method": self._method, "params": params}
        return to_json(call)

    def result(self, response: httpx.Response) -> dict[str, Any]:
        """Return the result; the body tells more about an error than the HTTP status."""
        try:
            body = from_json(response.content)
        except ValueError as error:
            response.raise_for_status()
            raise RemoteAnswerError("the agent's answer is not JSON") from error
        is_told = isinstance(body, dict) and isinstance(body.get("error"), dict)
        if not is_told or response.status_code in _TOLD_BY_STATUS:
            response.raise_for_status()
        return self.checked(body)

    def checked(self, body: object) -> dict[str, Any]:
        """Return the result of a JSON-RPC response.

        Raises:
            RemoteRefusedError: It is an error.
            RemoteAnswerError: It is no response, or one to another call.
        """
        if not isinstance(body, dict):
            raise RemoteAnswerError("the agent's answer is not a JSON-RPC response")
        if isinstance(error := body.get("error"), dict):
            code = error.get("code")
            message = f"the agent refused: {quote(str(error.get('message', 'it said no more')))}"
            raise RemoteRefusedError(message, code=code if isinstance(code, int) else 0)
        result = body.get("result")
        if not isinstance(result, dict) or body.get("id") != self._id:
            raise RemoteAnswerError("the agent's answer is not a response to this call")
        return result


def _parsed(data: bytes) -> object:
    try:
        return from_json(data)
    except ValueError as error:
        raise RemoteAnswerError("an event of the agent's stream is not JSON") from error


def _event(result: dict[str, Any]) -> StreamResponse:
    try:
        return parse_stream_response(result)
    except ParseError as error:
        raise RemoteAnswerError("an event of the agent's stream is not A2A") from error
