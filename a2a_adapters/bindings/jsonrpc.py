"""The JSON-RPC endpoint: a short way for the frequent methods, a2a-sdk for the rest.

a2a-sdk's dispatcher validates by reflection, copies each message and sends every stream event
through several queues (seen in 1.3.0). Sending, streaming, subscribing and getting, as
A2A 1.0 clients call them, are answered here; everything else, all of 0.3 included, is
handed on to the SDK.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.types import GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest, Task
from a2a.utils.errors import A2AError, InvalidParamsError
from google.protobuf.json_format import ParseDict, ParseError
from pydantic_core import from_json, to_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from a2a_adapters.bindings.sse import EventStream
from a2a_adapters.bindings.wire import message_to_dict, parse_send, task_to_dict
from a2a_adapters.runtime.guard import UnexpectedErrorsHidden
from a2a_adapters.runtime.updates import one_line

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from a2a.server.routes.common import ServerCallContextBuilder
    from starlette.types import Receive, Scope, Send

    from a2a_adapters.runtime import Runtime
    from a2a_adapters.runtime.subscription import Subscription
    from a2a_adapters.runtime.updates import AnyUpdate

_PARSE_ERROR = to_json(
    {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Invalid JSON payload"}}
)
_PARAMS: dict[str, type[SubscribeToTaskRequest | GetTaskRequest]] = {
    "SubscribeToTask": SubscribeToTaskRequest,
    "GetTask": GetTaskRequest,
}
_SENDING = frozenset({"SendMessage", "SendStreamingMessage"})
_METHODS = _SENDING | _PARAMS.keys()


@dataclass(frozen=True, slots=True)
class _Call:
    id: str | int
    method: str
    params: object


class JsonRpcEndpoint:
    """Answers `POST /` for both protocol versions.

    Args:
        runtime: What carries out the operations.
        context_builder: Tells who is calling.
    """

    def __init__(self, runtime: Runtime, context_builder: ServerCallContextBuilder) -> None:
        self._runtime = runtime
        self._context_builder = context_builder
        self._sdk = JsonRpcDispatcher(runtime, self._context_builder, enable_v0_3_compat=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        try:
            response = await self._handle(Request(scope, receive, send))
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _handle(self, request: Request) -> Response:
        try:
            body = from_json(await request.body(), allow_inf_nan=False)
        except ValueError:
            return Response(_PARSE_ERROR, media_type="application/json")
        call = _short_way(body, request)
        if call is None:
            return await self._sdk.handle_requests(request)
        try:
            with UnexpectedErrorsHidden(call.method):
                return await self._answer(call, request)
        except A2AError as error:
            return _json_response(build_error_response(call.id, error))

    async def _answer(self, call: _Call, request: Request) -> Response:
        params = _parse_params(call)
        context = self._context_builder.build(request)
        context.tenant = params.tenant
        match params:
            case GetTaskRequest():
                task = await self._runtime.on_get_task(params, context)
                return _result(call, task_to_dict(task))
            case SubscribeToTaskRequest():
                subscription = await self._runtime.open_subscription(params, context)
                return await self._stream(call, subscription)
            case SendMessageRequest() if call.method == "SendStreamingMessage":
                subscription = await self._runtime.open_stream(params, context)
                return await self._stream(call, subscription)
            case SendMessageRequest():
                return await self._send(call, params, context)

    async def _send(
        self, call: _Call, params: SendMessageRequest, context: ServerCallContext
    ) -> Response:
        result = await self._runtime.on_message_send(params, context)
        if isinstance(result, Task):
            return _result(call, {"task": task_to_dict(result)})
        return _result(call, {"message": message_to_dict(result)})

    async def _stream(self, call: _Call, subscription: Subscription) -> Response:
        # An agent that refuses the message does so before its first update.
        try:
            first = await subscription.take()
        except BaseException:
            subscription.close()
            raise
        head = b'data: {"jsonrpc":"2.0","id":' + one_line(call.id) + b',"result":'

        def frame(update: AnyUpdate) -> bytes:
            return head + update.json() + b"}\n\n"

        return EventStream(subscription, first, frame)


def _short_way(body: object, request: Request) -> _Call | None:
    """Return the call if it is one for this endpoint, None if it is a2a-sdk's."""
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        return None
    method, call_id = body.get("method"), body.get("id")
    if not isinstance(method, str) or method not in _METHODS:
        return None
    if not isinstance(call_id, str | int) or isinstance(call_id, bool):
        return None
    if request.headers.get("a2a-version") != "1.0":
        return None
    return _Call(call_id, method, body.get("params", {}))


def _parse_params(call: _Call) -> SendMessageRequest | SubscribeToTaskRequest | GetTaskRequest:
    if not isinstance(call.params, dict):
        raise InvalidParamsError("params must be an object")
    try:
        if call.method in _SENDING:
            return parse_send(call.params)
        return ParseDict(call.params, _PARAMS[call.method](), ignore_unknown_fields=True)
    except (ParseError, OverflowError) as error:
        raise InvalidParamsError(str(error)) from error


def _result(call: _Call, result: object) -> Response:
    return _json_response({"jsonrpc": "2.0", "id": call.id, "result": result})


def _json_response(content: object) -> Response:
    return Response(to_json(content), media_type="application/json")
