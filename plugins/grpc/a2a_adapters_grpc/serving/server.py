"""The server of the gRPC bindings of A2A 1.0 (section 10) and 0.3, both on one port.

a2a-sdk 1.3's servicers are not used: they ignore the version that a client requests, send the
texts of unexpected exceptions to the client, and return errors of 0.3 as a bare status.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import grpc
import grpc.aio
from a2a.auth.user import UnauthenticatedUser, User
from a2a.server.context import ServerCallContext
from a2a.utils.error_handlers import A2A_DOMAIN
from a2a.utils.errors import A2AError, ErrorMapping, InvalidParamsError
from a2a.utils.grpc_status import status_to_grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from starlette.datastructures import URL

from a2a_adapters.bindings.http import EXTENSION_HEADERS, requested_extensions
from a2a_adapters.concurrency.threads import LARGE_BYTES, computed
from a2a_adapters.contract.caller import CALLER, Caller
from a2a_adapters.contract.errors import ListenError
from a2a_adapters.net.addresses import SHARE, listen, share_of
from a2a_adapters.observability.failures import UnexpectedErrorsHidden
from a2a_adapters.observability.requests import is_observed, observed
from a2a_adapters.protocol import errors as failures
from a2a_adapters.protocol.errors import DOMAIN
from a2a_adapters.protocol.headers import (
    V03,
    VERSION_HEADER,
    VERSION_STATE,
    joined,
    supported,
    unsupported,
)
from a2a_adapters.protocol.owner import Owner
from a2a_adapters.protocol.parsing import parsed
from a2a_adapters.security.gate import CallerDetails, admit
from a2a_adapters.security.refusals import Refusal
from a2a_adapters_grpc import PROTOCOL
from a2a_adapters_grpc.fields import has_more_fields
from a2a_adapters_grpc.serving.services import OLD_SERVICE, SERVICE, Rpc, Service

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from google.protobuf.message import Message

    from a2a_adapters import ServerOptions
    from a2a_adapters.observability.requests import RequestRecord
    from a2a_adapters.runtime import StreamingHandler
    from a2a_adapters.runtime.updates import AnyUpdate
    from a2a_adapters.security import Authenticator
    from a2a_adapters.security.rates import RequestRates

_SHOWN_CHARACTERS = 500
"""The longest error text: it is sent in headers, which are small."""

KEEPALIVE_SECONDS = 15.0
"""Silence on a connection with open calls before the server pings it, so that proxies keep it."""

_CLOSE_SECONDS = 1.0
"""Time for open calls to end when the server stops, after their tasks have ended."""

_ANONYMOUS = UnauthenticatedUser()

_UNOBSERVED = nullcontext()


class GrpcServer:
    """Serves a runtime over gRPC, in the event loop that starts it.

    Args:
        runtime: Carries out the operations.
        port: The port to listen on; 0 takes a free one.
        options: The options of the server.
        rates: Rate limits per caller.
    """

    name = "gRPC"
    protocol = PROTOCOL

    def __init__(
        self,
        runtime: StreamingHandler,
        port: int,
        options: ServerOptions,
        rates: RequestRates,
    ) -> None:
        limits = options.limits
        self.runtime = runtime
        self.authentication = options.authentication
        self.details = CallerDetails(options.caller_headers, options.operators)
        self.trusts_traces = options.trusts_traces
        self.values = limits.values
        self.rates = rates
        self.previews = [options.preview] if options.preview else []
        self._host = options.grpc_host
        self._public_url = options.grpc_url
        self._server: grpc.aio.Server | None = None
        self._options = [
            ("grpc.so_reuseport", 0),
            ("grpc.max_receive_message_length", limits.body_bytes),
            ("grpc.max_metadata_size", limits.header_bytes),
            ("grpc.absolute_max_metadata_size", limits.header_bytes),
            ("grpc.keepalive_time_ms", round(1000 * KEEPALIVE_SECONDS)),
            ("grpc.keepalive_timeout_ms", round(4000 * KEEPALIVE_SECONDS)),
            ("grpc.http2.max_pings_without_data", 0),
            # Lets clients ping up to three times as often: by default, gRPC closes connections that
            # are pinged more than once in five minutes.
            ("grpc.http2.min_ping_interval_without_data_ms", round(333 * KEEPALIVE_SECONDS)),
        ]
        self.port = port

    def url(self, http_url: str) -> str:
        """Return the address for the card of an agent at `http_url`, "" if that is unknown."""
        host = (URL(http_url).hostname or "") if http_url else self._host
        return self._public_url or f"{_bracketed(host)}:{self.port}"

    async def start(self) -> None:
        """Start listening.

        Raises:
            ListenError: The port is in use, or the host is not an address of this machine.
        """
        server = grpc.aio.server(options=self._options)
        for service in (SERVICE, OLD_SERVICE):
            handlers = {
                name: _Method(self, service, rpc).handler() for name, rpc in service.calls.items()
            }
            generic = grpc.method_handlers_generic_handler(service.name, handlers)
            server.add_generic_rpc_handlers((generic,))
        if self.port:
            for each in listen(self._host, self.port):  # fails before gRPC does, which would log it
                each.close()
        host = _bracketed(self._host)
        try:
            self.port = server.add_insecure_port(f"{host}:{self.port}")
        except RuntimeError as error:
            raise ListenError(f"gRPC cannot listen at {host}:{self.port}: {error}") from error
        await server.start()
        self._server = server

    async def stop(self) -> None:
        """Give open calls a second to end, then close."""
        if self._server is not None:
            await self._server.stop(_CLOSE_SECONDS)


class _Method:
    """One method of a service, with everything that is the same for all calls computed once.

    gRPC inspects a handler's function at every call, and faster if it is a bound method.
    """

    def __init__(self, server: GrpcServer, service: Service, rpc: Rpc) -> None:
        self._server = server
        self._rpc = rpc
        self._service = service.name
        self._version = service.version
        self._path = f"{service.name}/{rpc.operation.name}"
        self._errors_hidden = UnexpectedErrorsHidden(rpc.operation.name)

    def handler(self) -> grpc.RpcMethodHandler[bytes, bytes]:
        """Return gRPC's handler for the method.

        The handler gets and returns bytes: parsing here gives failures the right status.
        """
        if self._rpc.operation.streams:
            return grpc.unary_stream_rpc_method_handler(self._stream)
        return grpc.unary_unary_rpc_method_handler(self._answer)

    async def _answer(self, request: bytes, context: _ServicerContext) -> bytes:
        rpc = self._rpc
        headers = _headers(context)
        with self._observed(headers) as record:
            try:
                with self._errors_hidden:
                    result, caller = await self._run(request, headers, context)
                    if caller.requested_extensions:
                        await self._name_extensions(caller, context)
                    if rpc.converts and result is not None and result.ByteSize() > LARGE_BYTES:
                        return await computed(rpc.write, result)
                    return rpc.write(result)
            except A2AError as error:
                await _abort(context, error, record)
                raise

    async def _stream(self, request: bytes, context: _ServicerContext) -> None:
        headers = _headers(context)
        with self._observed(headers) as record:
            try:
                with self._errors_hidden:
                    subscription, caller = await self._run(request, headers, context)
                    try:
                        if caller.requested_extensions:
                            await self._name_extensions(caller, context)
                        while updates := await subscription.take():
                            for update in updates:
                                await context.write(await _encoded(update, self._rpc))
                    finally:
                        subscription.close()
            except A2AError as error:
                await _abort(context, error, record)

    def _observed(self, headers: dict[str, str]) -> AbstractContextManager[RequestRecord | None]:
        if not is_observed(headers):
            return _UNOBSERVED
        trusts = self._server.trusts_traces
        return observed("gRPC", self._path, headers, status="OK", trusts=trusts)

    async def _run(
        self, request: bytes, headers: dict[str, str], context: _ServicerContext
    ) -> tuple[Any, ServerCallContext]:
        known = Caller()
        user: User = _ANONYMOUS
        if self._server.authentication is not None:
            known = await _identified(self._server.authentication, headers)
            user = Owner(known.owner, is_authenticated=True)
        if self._server.details:
            known = self._server.details.added(known, headers)
        host = "" if self._server.rates.behind_proxy else _host(context.peer())
        share = user.user_name or share_of(host)
        if (refusal := self._server.rates.refusal(share)) is not None:
            raise _RefusedError(refusal)
        version = headers.get(VERSION_HEADER, "")
        if version != self._version:
            version = self._supported(version)
        if len(request) <= LARGE_BYTES:
            params = self._parsed(request)
        else:
            params = await computed(self._parsed, request)
        caller = ServerCallContext(
            state={"headers": headers, VERSION_STATE: version, SHARE: share, CALLER: known},
            user=user,
            tenant=params.tenant,
            requested_extensions=requested_extensions(headers),
        )
        return await self._rpc.operation.of(self._server.runtime)(params, caller), caller

    def _supported(self, asked: str) -> str:
        """Return the version of a call, which may be a drafted one of the service for 1.0."""
        previews = self._server.previews
        version = supported(asked, previews)
        if version != self._version and (version not in previews or self._version == V03):
            text = f"the service {self._service} is of A2A {self._version}"
            raise unsupported(text, previews)
        return version

    async def _name_extensions(self, caller: ServerCallContext, context: _ServicerContext) -> None:
        """Send the client the names of the requested extensions that are active."""
        activated = self._server.runtime.admission.activated(caller.requested_extensions)
        if activated:
            name = EXTENSION_HEADERS[self._version == V03]
            await context.send_initial_metadata(((name, ", ".join(activated)),))

    def _parsed(self, request: bytes) -> Any:
        """Parse the request of a call.

        Raises:
            InvalidParamsError: The request is malformed or holds too many values.
        """
        # A JSON value takes at most four fields: its key, its entry, itself, its kind.
        if has_more_fields(request, self._rpc.request, 4 * self._server.values):
            raise InvalidParamsError(
                f"a request may have at most {self._server.values} JSON values"
            )
        return parsed(self._rpc.read, request)


async def _identified(authentication: Authenticator, headers: dict[str, str]) -> Caller:
    admitted = await admit(authentication, headers, "gRPC")
    if isinstance(admitted, Refusal):
        raise _RefusedError(admitted)
    return admitted


async def _encoded(update: AnyUpdate, rpc: Rpc) -> bytes:
    if update.size <= LARGE_BYTES:
        return update.once(rpc.write)
    return await computed(update.once, rpc.write)


def _host(peer: str) -> str:
    """Return the address in gRPC's name of a client, such as `ipv6:%5B::1%5D:50000`."""
    return unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


class _RefusedError(A2AError):
    """A call that authentication or a rate limit refused."""

    def __init__(self, refusal: Refusal) -> None:
        seconds = refusal.headers.get("Retry-After")
        super().__init__(refusal.message, {"retryAfterSeconds": seconds} if seconds else None)
        self.kind = ErrorMapping(refusal.status, refusal.reason, refusal.reason)


_ServicerContext = grpc.aio.ServicerContext[bytes, bytes]


def _headers(context: _ServicerContext) -> dict[str, str]:
    """Return the metadata of a call; values of the same name are joined as in HTTP."""
    metadata = context.invocation_metadata() or ()
    return joined([(name, value) for name, value in metadata if isinstance(value, str)])


async def _abort(context: _ServicerContext, error: A2AError, record: RequestRecord | None) -> None:
    """End a call with an error (section 10.6)."""
    if isinstance(error, _RefusedError):
        kind, domain = error.kind, DOMAIN
    else:
        kind, domain = failures.mapping(error), A2A_DOMAIN
    if record is not None:
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
