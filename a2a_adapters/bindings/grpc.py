"""The gRPC binding (A2A 1.0, section 10), and that of A2A 0.3 on the same port.

a2a-sdk 1.3's servicers ignore the version a client asks for, send what an unexpected
exception says to the client, and tell nothing but a status over 0.3.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
from a2a.auth.user import UnauthenticatedUser, User
from a2a.extensions.common import get_requested_extensions
from a2a.server.context import ServerCallContext
from a2a.server.routes.common import StarletteUser
from a2a.utils.error_handlers import A2A_DOMAIN
from a2a.utils.errors import A2AError, ErrorMapping
from a2a.utils.grpc_status import status_to_grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from starlette.authentication import SimpleUser
from starlette.datastructures import URL

from a2a_adapters.bindings import failures
from a2a_adapters.bindings.caller import EXTENSION_HEADERS
from a2a_adapters.bindings.methods import parsed
from a2a_adapters.bindings.rpcs import OLD_SERVICE, SERVICE, Rpc, Service
from a2a_adapters.bindings.versions import VERSION_HEADER, VERSION_STATE, supported, unsupported
from a2a_adapters.errors import ConfigurationError
from a2a_adapters.observability.requests import Observer
from a2a_adapters.runtime.guard import UnexpectedErrorsHidden
from a2a_adapters.security.gate import admit
from a2a_adapters.security.refusals import DOMAIN, Refusal

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from google.protobuf.message import Message

    from a2a_adapters.observability.record import RequestRecord
    from a2a_adapters.runtime import Runtime
    from a2a_adapters.security import Authenticator

_SHOWN_CHARACTERS = 500
"""How much of an error is told: its text and details travel in headers, which are small."""

_CLOSE_SECONDS = 1.0
"""How long calls may take to end when the server stops, after their tasks have."""


class GrpcServer:
    """Serves a runtime over gRPC, in the event loop it is started in.

    Args:
        runtime: What carries out the operations.
        host: Where to listen.
        port: Where to listen; 0 takes a free port.
        public_url: Its address in the card.
        authentication: Who may call; by default everybody.
        message_bytes: How large a request may be.
    """

    def __init__(
        self,
        runtime: Runtime,
        host: str,
        port: int,
        public_url: str | None = None,
        *,
        authentication: Authenticator | None = None,
        message_bytes: int = 4 * 1024 * 1024,
    ) -> None:
        self._runtime = runtime
        self._address = f"[{host}]" if ":" in host else host
        self._server: grpc.aio.Server | None = None
        self._public_url = public_url
        self._observer = Observer()
        self._authentication = authentication
        self._options = [
            ("grpc.so_reuseport", 0),
            ("grpc.max_receive_message_length", message_bytes),
        ]
        self.port = port

    def url(self, http_url: str) -> str:
        """Return the address for the card of an agent that is at `http_url` otherwise."""
        address = URL(http_url).replace(scheme="http", port=self.port, path="", query="")
        return self._public_url or str(address)

    async def start(self) -> None:
        """Start listening.

        Raises:
            ConfigurationError: The port is taken.
        """
        server = grpc.aio.server(options=self._options)
        for service in (SERVICE, OLD_SERVICE):
            handlers = {name: self._handler(service, rpc) for name, rpc in service.calls.items()}
            generic = grpc.method_handlers_generic_handler(service.name, handlers)
            server.add_generic_rpc_handlers((generic,))
        address = f"{self._address}:{self.port}"
        try:
            self.port = server.add_insecure_port(address)
        except RuntimeError as error:
            raise ConfigurationError(f"gRPC cannot listen at {address}: {error}") from error
        await server.start()
        self._server = server

    async def stop(self) -> None:
        """Let the calls end that still run, then close."""
        if self._server is not None:
            await self._server.stop(_CLOSE_SECONDS)

    def _handler(self, service: Service, rpc: Rpc) -> grpc.RpcMethodHandler[bytes, bytes]:
        # Messages are parsed and written here, where failures get the right status.
        if rpc.operation.streams:
            return grpc.unary_stream_rpc_method_handler(partial(self._stream, service, rpc))
        return grpc.unary_unary_rpc_method_handler(partial(self._answer, service, rpc))

    async def _answer(
        self, service: Service, rpc: Rpc, request: bytes, context: _ServicerContext
    ) -> bytes:
        with self._observed(service, rpc, context) as record:
            try:
                with UnexpectedErrorsHidden(rpc.operation.name):
                    result = await self._run(service, rpc, request, context)
                    return rpc.to_wire(result).SerializeToString()
            except A2AError as error:
                await _abort(context, error, record)
                raise

    async def _stream(
        self, service: Service, rpc: Rpc, request: bytes, context: _ServicerContext
    ) -> None:
        with self._observed(service, rpc, context) as record:
            try:
                with UnexpectedErrorsHidden(rpc.operation.name):
                    subscription = await self._run(service, rpc, request, context)
                    try:
                        while updates := await subscription.take():
                            for update in updates:
                                await context.write(rpc.to_wire(update.event).SerializeToString())
                    finally:
                        subscription.close()
            except A2AError as error:
                await _abort(context, error, record)

    def _observed(
        self, service: Service, rpc: Rpc, context: _ServicerContext
    ) -> AbstractContextManager[RequestRecord]:
        path = f"{service.name}/{rpc.operation.name}"
        return self._observer.request("gRPC", path, _headers(context), status="OK")

    async def _run(
        self, service: Service, rpc: Rpc, request: bytes, context: _ServicerContext
    ) -> Any:
        headers = _headers(context)
        user = await self._user(headers)
        if supported(headers.get(VERSION_HEADER, "")) != service.version:
            raise unsupported(f"the service {service.name} is of A2A {service.version}")
        params = parsed(rpc.to_core, parsed(rpc.request.FromString, request))
        caller = ServerCallContext(
            state={"headers": headers, VERSION_STATE: service.version},
            user=user,
            tenant=params.tenant,
            requested_extensions=get_requested_extensions(
                [headers[name] for name in EXTENSION_HEADERS if name in headers]
            ),
        )
        return await rpc.operation.run(self._runtime, params, caller)

    async def _user(self, headers: dict[str, str]) -> User:
        if self._authentication is None:
            return UnauthenticatedUser()
        admitted = await admit(self._authentication, headers, "gRPC")
        if isinstance(admitted, Refusal):
            raise _RefusedError(admitted)
        return StarletteUser(SimpleUser(admitted))


class _RefusedError(A2AError):
    """A call of somebody who may not."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.kind = ErrorMapping(refusal.status, refusal.reason, refusal.reason)


_ServicerContext = grpc.aio.ServicerContext[bytes, bytes]


def _headers(context: _ServicerContext) -> dict[str, str]:
    """Return the metadata of a call, values of the same name joined as in HTTP."""
    headers: dict[str, str] = {}
    for name, value in context.invocation_metadata() or ():
        if isinstance(value, str):
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


async def _abort(context: _ServicerContext, error: A2AError, record: RequestRecord) -> None:
    """End a call by an error (section 10.6)."""
    if isinstance(error, _RefusedError):
        kind, domain = error.kind, DOMAIN
    else:
        kind, domain = failures.mapping(error), A2A_DOMAIN
    record.status = kind.grpc_status
    metadata = failures.error_metadata(error)
    details: list[Message] = [ErrorInfo(reason=kind.reason, domain=domain, metadata=metadata)]
    if violations := failures.field_violations(error):
        fields = [{"field": name, "description": text} for name, text in violations]
        details.append(BadRequest(field_violations=fields))
    status = Status(
        code=grpc.StatusCode[kind.grpc_status].value[0],
        message=error.message[:_SHOWN_CHARACTERS],
    )
    for detail in details:
        packed = AnyMessage()
        packed.Pack(detail)
        status.details.append(packed)
    code, message, trailing = status_to_grpc(status)
    await context.abort(code, message, trailing)
