"""The JSON-RPC binding (A2A 1.0, section 9; A2A 0.3, section 7).

a2a-sdk 1.3's dispatcher validates by reflection, copies each message, sends every stream
event through several queues, and calls wrong parameters of 0.3 an invalid request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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

from a2a_adapters.bindings import failures, methods, v03_jsonrpc
from a2a_adapters.bindings.http import JSON, name_extensions, read_json
from a2a_adapters.bindings.methods import parsed
from a2a_adapters.bindings.sse import EventStream
from a2a_adapters.bindings.versions import (
    V03,
    V1,
    VERSION_STATE,
    requested_version,
    unsupported,
)
from a2a_adapters.runtime.guard import UnexpectedErrorsHidden
from a2a_adapters.runtime.updates import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from a2a.server.context import ServerCallContext
    from a2a.server.routes.common import ServerCallContextBuilder
    from google.protobuf.message import Message
    from starlette.types import Receive, Scope, Send

    from a2a_adapters.bindings.methods import Method
    from a2a_adapters.runtime import Runtime
    from a2a_adapters.runtime.updates import AnyUpdate


@dataclass(frozen=True, slots=True)
class _Version:
    """How one version of the protocol is spoken."""

    name: str
    methods: Mapping[str, Method]
    error: Callable[[str | int | None, A2AError], object]


_V1 = _Version(V1, methods.METHODS, failures.rpc_error)
_V03 = _Version(V03, v03_jsonrpc.METHODS, v03_jsonrpc.rpc_error)


@dataclass(frozen=True, slots=True)
class _Call:
    id: str | int | None
    method: str
    params: object


class JsonRpcEndpoint:
    """Answers calls of both protocol versions.

    Args:
        runtime: What carries out the operations.
        context_builder: Tells who is calling.
    """

    def __init__(self, runtime: Runtime, context_builder: ServerCallContextBuilder) -> None:
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
        version, call_id = _V1, None
        try:
            body = await read_json(request)
            call_id = _call_id(body)
            call = _parse_call(body, call_id)
            version = _V1 if requested_version(request) == V1 else _V03
            with UnexpectedErrorsHidden(call.method):
                return await self._answer(call, version, request)
        except A2AError as error:
            return _refusal(error, to_json(version.error(call_id, error)), JSON)

    async def _answer(self, call: _Call, version: _Version, request: Request) -> Response:
        method = version.methods.get(call.method)
        if method is None:
            raise _unknown(call.method, version)
        if not isinstance(call.params, dict):
            raise InvalidParamsError("params must be an object")
        params = parsed(method.parse, call.params)
        context = self._context_builder.build(request)
        if params.tenant:
            context.tenant = params.tenant
        context.state[VERSION_STATE] = version.name
        if method.operation.streams:
            response = await self._stream(call, method, version, params, context)
        else:
            result = await method.operation.run(self._runtime, params, context)
            head = b'{"jsonrpc":"2.0","id":' + to_json(call.id)
            response = _response(head + b',"result":' + method.encode(result) + b"}")
        name_extensions(response, self._runtime, context)
        return response

    async def _stream(
        self,
        call: _Call,
        method: Method,
        version: _Version,
        params: Message,
        context: ServerCallContext,
    ) -> Response:
        encode = method.encode
        head = b'data: {"jsonrpc":"2.0","id":' + one_line(call.id) + b',"result":'

        def frame(update: AnyUpdate) -> bytes:
            return head + encode(update) + b"}\n\n"

        def frame_error(error: A2AError) -> bytes:
            return b"data: " + one_line(version.error(call.id, error)) + b"\n\n"

        try:
            with UnexpectedErrorsHidden(call.method):
                subscription = await method.operation.run(self._runtime, params, context)
                return await EventStream.open(subscription, frame, frame_error)
        except A2AError as error:
            if version is _V1:
                raise
            # Clients of 0.3 take nothing but a stream for an answer, also if it is an error.
            return _refusal(error, frame_error(error), EventStream.media_type)


def _call_id(body: object) -> str | int | None:
    """Return the id of a call, also of one that is wrong otherwise."""
    call_id = body.get("id") if isinstance(body, dict) else None
    return call_id if isinstance(call_id, str | int) and not isinstance(call_id, bool) else None


def _parse_call(body: object, call_id: str | int | None) -> _Call:
    if not isinstance(body, dict):
        raise InvalidRequestError("a request is one JSON object; batches are not supported")
    if body.get("jsonrpc") != "2.0":
        raise InvalidRequestError("jsonrpc must be '2.0'")
    method = body.get("method")
    if not isinstance(method, str):
        raise InvalidRequestError("method must be a string")
    if call_id is None and body.get("id") is not None:
        raise InvalidRequestError("id must be a string or an integer")
    return _Call(call_id, method, body.get("params", {}))


def _unknown(method: str, version: _Version) -> MethodNotFoundError | VersionNotSupportedError:
    if version is _V03 and method in _V1.methods:
        return unsupported(f"{method} is of A2A 1.0: send the header A2A-Version: 1.0")
    return MethodNotFoundError()


def _response(body: bytes) -> Response:
    return Response(body, media_type=JSON)


def _refusal(error: A2AError, body: bytes, media_type: str) -> Response:
    """Return an error: HTTP 200 like all of JSON-RPC, unless clients of HTTP should try again."""
    headers = failures.retry_headers(error)
    status = failures.mapping(error).http_code if headers else 200
    return Response(body, status, headers, media_type=media_type)
