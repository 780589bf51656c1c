"""The JSON-RPC binding (A2A 1.0, section 9; A2A 0.3, section 7).

a2a-sdk 1.3's dispatcher validates by reflection, copies each message, sends every stream
event through several queues, and calls wrong parameters of 0.3 an invalid request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from a2a.utils.errors import (
    A2AError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
    VersionNotSupportedError,
)
from pydantic_core import to_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from a2a_adapters.bindings import methods, v03_jsonrpc
from a2a_adapters.bindings.http import JSON, body_as_json, check_content_type, name_extensions
from a2a_adapters.bindings.methods import parsed
from a2a_adapters.bindings.sse import EventStream, Frame
from a2a_adapters.concurrency.computing import LARGE_BYTES, computed
from a2a_adapters.protocol import errors as failures
from a2a_adapters.protocol.versions import (
    V03,
    V1,
    VERSION_HEADER,
    VERSION_STATE,
    requested_version,
    unsupported,
)
from a2a_adapters.protocol.wire import one_line
from a2a_adapters.runtime.guard import hidden

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from a2a.server.context import ServerCallContext
    from a2a.server.routes.common import ServerCallContextBuilder
    from google.protobuf.message import Message
    from starlette.types import Receive, Scope, Send

    from a2a_adapters.bindings.answers import Answers
    from a2a_adapters.bindings.intake import Intake
    from a2a_adapters.bindings.methods import Method
    from a2a_adapters.protocol.errors import CallId
    from a2a_adapters.runtime import Runtime


@dataclass(frozen=True, slots=True)
class _Version:
    """How one version of the protocol is spoken."""

    name: str
    methods: Mapping[str, Method]
    error: Callable[[CallId, A2AError], object]


_V1 = _Version(V1, methods.METHODS, failures.rpc_error)
_V03 = _Version(V03, v03_jsonrpc.METHODS, v03_jsonrpc.rpc_error)


class _Call(NamedTuple):
    id: CallId
    method: str
    params: object
    is_notification: bool


class JsonRpcEndpoint:
    """Answers calls of both protocol versions.

    Args:
        runtime: What carries out the operations.
        context_builder: Tells who is calling.
        intake: Lets requests be read.
        answers: Makes the answers.
    """

    def __init__(
        self,
        runtime: Runtime,
        context_builder: ServerCallContextBuilder,
        intake: Intake,
        answers: Answers,
    ) -> None:
        self._answers = answers
        self._intake = intake
        self._runtime = runtime
        self._context_builder = context_builder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        try:
            response = await self._handle(Request(scope, receive, send))
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _handle(self, request: Request) -> Response:
        version, call_id, is_notification, what = _V1, None, False, "a request"
        try:
            context = self._context_builder.build(request)
            headers = context.state["headers"]
            check_content_type(headers)
            async with self._intake.turn(request):
                body, size = await body_as_json(request)
                call_id = _call_id(body)
                call = _parse_call(body, call_id)
                is_notification, what = call.is_notification, call.method
                if headers.get(VERSION_HEADER) != V1 and requested_version(request) != V1:
                    version = _V03
                method, params = await _params(call, size, version)
            return await self._answer(call, method, params, version, context)
        except ClientDisconnect:
            raise
        except Exception as error:
            told = hidden(error, what)
            if is_notification:
                return _refusal(told, b"", None, 204)
            return _refusal(told, to_json(version.error(call_id, told)), JSON)

    async def _answer(
        self,
        call: _Call,
        method: Method,
        params: Any,
        version: _Version,
        context: ServerCallContext,
    ) -> Response:
        if params.tenant:
            context.tenant = params.tenant
        context.state[VERSION_STATE] = version.name
        if call.is_notification:
            return await self._notice(method, params, context)
        self._answers.check_room(method.operation.large_bytes)
        if method.operation.streams:
            response = await self._stream(call, method, version, params, context)
        else:
            result = await method.operation.run(self._runtime, params, context)
            head = b'{"jsonrpc":"2.0","id":' + to_json(call.id) + b',"result":'
            response = await self._answers.respond(method.encode, result, JSON, head, b"}")
        if context.requested_extensions:
            name_extensions(response, self._runtime, context)
        return response

    async def _notice(
        self, method: Method, params: Message, context: ServerCallContext
    ) -> Response:
        """Carry out a call without an id, which has no answer (JSON-RPC 2.0, section 4.1)."""
        result = await method.operation.run(self._runtime, params, context)
        if method.operation.streams:
            result.close()
        return Response(status_code=204)

    async def _stream(
        self,
        call: _Call,
        method: Method,
        version: _Version,
        params: Message,
        context: ServerCallContext,
    ) -> Response:
        head = b'data: {"jsonrpc":"2.0","id":' + one_line(call.id) + b',"result":'

        frame = Frame(head, method.encode, b"}\n\n")

        def frame_error(error: A2AError) -> bytes:
            return b"data: " + one_line(version.error(call.id, error)) + b"\n\n"

        try:
            subscription = await method.operation.run(self._runtime, params, context)
            return await EventStream.open(subscription, frame, frame_error)
        except Exception as error:
            if version is _V1:
                raise
            # Clients of 0.3 take nothing but a stream for an answer, also if it is an error.
            told = hidden(error, call.method)
            return _refusal(told, frame_error(told), EventStream.media_type)


def _call_id(body: object) -> CallId:
    """Return the id of a call, also of one that is wrong otherwise."""
    call_id = body.get("id") if isinstance(body, dict) else None
    is_id = isinstance(call_id, str | int | float) and not isinstance(call_id, bool)
    return call_id if is_id else None


def _parse_call(body: object, call_id: CallId) -> _Call:
    if not isinstance(body, dict):
        raise InvalidRequestError("a request is one JSON object; batches are not supported")
    if body.get("jsonrpc") != "2.0":
        raise InvalidRequestError("jsonrpc must be '2.0'")
    method = body.get("method")
    if not isinstance(method, str):
        raise InvalidRequestError("method must be a string")
    if call_id is None and body.get("id") is not None:
        raise InvalidRequestError("id must be a string or a number")
    return _Call(call_id, method, body.get("params", {}), "id" not in body)


async def _params(call: _Call, size: int, version: _Version) -> tuple[Method, Any]:
    """Return the method that is called, and what it is called with."""
    method = version.methods.get(call.method)
    if method is None:
        raise _unknown(call.method, version)
    if not isinstance(call.params, dict):
        raise InvalidParamsError("params must be an object")
    if size <= LARGE_BYTES:
        params = parsed(method.parse, call.params)
    else:
        params = await computed(parsed, method.parse, call.params)
    call.params.clear()  # it may be large, and the answer may take long
    return method, params


def _unknown(method: str, version: _Version) -> MethodNotFoundError | VersionNotSupportedError:
    if version is _V03 and method in _V1.methods:
        return unsupported(f"{method} is of A2A 1.0: send the header A2A-Version: 1.0")
    return MethodNotFoundError()


def _response(body: bytes) -> Response:
    return Response(body, media_type=JSON)


def _refusal(error: A2AError, body: bytes, media_type: str | None, status: int = 200) -> Response:
    """Return an error: HTTP 200 like all of JSON-RPC, unless clients of HTTP should try again."""
    headers = failures.retry_headers(error)
    status = failures.mapping(error).http_code if headers else status
    return Response(body, status, headers, media_type=media_type)
