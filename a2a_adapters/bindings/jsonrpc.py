"""The JSON-RPC binding (A2A 1.0, section 9; A2A 0.3, section 7).

a2a-sdk 1.3's dispatcher validates by reflection, copies each message, sends every stream
event through several queues, and reports wrong parameters of 0.3 as an invalid request.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

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

from a2a_adapters.bindings import mixed, operations, preview, v03_jsonrpc
from a2a_adapters.bindings.http import JSON, caller_of, check_content_type, parse_json
from a2a_adapters.bindings.sse import EventStream
from a2a_adapters.observability.failures import hidden
from a2a_adapters.protocol import errors as failures
from a2a_adapters.protocol.encoding import one_line
from a2a_adapters.protocol.headers import (
    V03,
    V1,
    V11,
    VERSION_STATE,
    requested_version,
    unsupported,
)
from a2a_adapters.protocol.parsing import parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from a2a.server.context import ServerCallContext
    from starlette.types import Receive, Scope, Send

    from a2a_adapters.bindings.http import HttpAgent
    from a2a_adapters.bindings.operations import Method
    from a2a_adapters.protocol.errors import CallId


@dataclass(frozen=True, slots=True)
class _Version:
    """The methods and errors of one version of the protocol."""

    name: str
    methods: Mapping[str, Method]
    error: Callable[[CallId, A2AError], object]


_V1 = _Version(V1, operations.METHODS, failures.rpc_error)
_V03 = _Version(V03, v03_jsonrpc.METHODS, v03_jsonrpc.rpc_error)
_V11 = _Version(V11, preview.METHODS, failures.rpc_error)
_VERSIONS = {each.name: each for each in (_V1, _V03, _V11)}


class _Call:
    """One call. If it is malformed, the fields read so far decide the form of the error.

    Args:
        asked: Returns the version that the request asks for.
    """

    __slots__ = ("_asked", "id", "method", "name", "params", "version")

    def __init__(self, asked: Callable[[], str]) -> None:
        self._asked = asked
        self.version = _V1
        self.id: CallId = None
        self.name = "a request"
        self.method: Method
        self.params: Any

    def read(self, body: bytes) -> None:
        """Read a body.

        Raises:
            A2AError: It is not a valid call.
        """
        call = parse_json(body)
        if not isinstance(call, dict):
            raise InvalidRequestError("a request is one JSON object; batches are not supported")
        call_id = call.get("id")
        if isinstance(call_id, str | int | float) and not isinstance(call_id, bool):
            self.id = call_id
        if call.get("jsonrpc") != "2.0":
            raise InvalidRequestError("jsonrpc must be '2.0'")
        name = call.get("method")
        if not isinstance(name, str):
            raise InvalidRequestError("method must be a string")
        if self.id is None and call_id is not None:
            raise InvalidRequestError("id must be a string or a number")
        self.name = name
        self.version = _VERSIONS[self._asked()]
        method = self.version.methods.get(name)
        if method is None:
            raise _unknown(name, self.version)
        params = call.get("params", {})
        if not isinstance(params, dict):
            raise InvalidParamsError("params must be an object")
        self.method = method
        if self.version is _V03:
            self.method = mixed.method_for(name, params) or method
        self.params = parsed(self.method.parse, params)
        if "id" not in call:  # a notification in JSON-RPC, but A2A has none
            raise InvalidRequestError("id is missing: every method of A2A has an answer")


class JsonRpcEndpoint:
    """Answers calls of both protocol versions."""

    def __init__(self, agent: HttpAgent) -> None:
        self._agent = agent
        self._answers = agent.answers
        self._runtime = agent.runtime

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        try:
            response = await self._handle(Request(scope, receive, send))
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _handle(self, request: Request) -> Response:
        call = _Call(partial(requested_version, request, self._agent.previews))
        try:
            context = caller_of(request)
            check_content_type(context.state["headers"])
            await self._agent.read(request.scope, call.read)
            if self._agent.context_header:
                self._agent.name_context(call.params, context.state["headers"])
            return await self._answer(call, context)
        except ClientDisconnect:
            raise
        except Exception as error:

            def framed(public: A2AError) -> bytes:
                return to_json(call.version.error(call.id, public))

            return _refusal(error, call.name, framed, JSON)

    async def _answer(self, call: _Call, context: ServerCallContext) -> Response:
        operation, params = call.method.operation, call.params
        if params.tenant:
            context.tenant = params.tenant
        context.state[VERSION_STATE] = call.version.name
        if operation.large_bytes:
            self._answers.check_room(operation.large_bytes)
        if operation.streams:
            response = await self._stream(call, context)
        else:
            result = await operation.of(self._runtime)(params, context)
            head = b'{"jsonrpc":"2.0","id":' + to_json(call.id) + b',"result":'
            response = await self._answers.respond(call.method.encode, result, JSON, head, b"}")
        if context.requested_extensions:
            self._agent.name_extensions(response, context)
        return response

    async def _stream(self, call: _Call, context: ServerCallContext) -> Response:
        head = b'data: {"jsonrpc":"2.0","id":' + one_line(call.id) + b',"result":'

        frame = call.method.frame(head, call.method.encode, b"}\n\n")

        def frame_error(error: A2AError) -> bytes:
            return b"data: " + one_line(call.version.error(call.id, error)) + b"\n\n"

        try:
            subscription = await call.method.operation.of(self._runtime)(call.params, context)
            return await EventStream.open(subscription, frame, frame_error)
        except Exception as error:
            if call.version is not _V03:
                raise
            # Clients of 0.3 expect a stream, even for an error.
            return _refusal(error, call.name, frame_error, EventStream.media_type)


def _unknown(method: str, version: _Version) -> MethodNotFoundError | VersionNotSupportedError:
    if version is _V03 and method in _V1.methods:
        return unsupported(f"{method} is of A2A 1.0: send the header A2A-Version: 1.0")
    if version is not _V03 and (old := _V03.methods.get(method)):
        return MethodNotFoundError(
            f"{method} is of A2A 0.3: call {old.operation.name}, or leave out A2A-Version"
        )
    if today := v03_jsonrpc.EARLIER.get(method):
        return MethodNotFoundError(
            f"{method} is of an early draft of A2A: call {today} (A2A 0.3), or a method of A2A 1.0"
        )
    return MethodNotFoundError()


def _refusal(
    error: Exception, name: str, framed: Callable[[A2AError], bytes], media_type: str
) -> Response:
    """Return an error: HTTP 200 as in all of JSON-RPC, except for errors that ask to retry.

    The hidden error stays local: in the caller's frame, which the error refers to, it would form a
    cycle that keeps the request and its task in memory.
    """
    public = hidden(error, name)
    headers = failures.retry_headers(public)
    status = failures.mapping(public).http_code if headers else 200
    return Response(framed(public), status, headers, media_type=media_type)
