"""The client transport for agents of A2A 1.0 or 0.3 over gRPC.

a2a-sdk's transports write and read the messages. This module adds what they lack: credentials,
limits of time and size, retries of calls that the agent has not started, and typed errors.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing, suppress
from itertools import count
from typing import TYPE_CHECKING, Any, cast

import grpc
import httpx
from a2a.client import ClientCallContext
from a2a.client.errors import A2AClientError
from a2a.client.transports.base import ClientTransport
from a2a.client.transports.grpc import GrpcTransport as SdkTransport
from a2a.compat.v0_3.grpc_transport import CompatGrpcTransport
from a2a.utils.errors import A2A_REASON_TO_ERROR, JSON_RPC_ERROR_CODE_MAP
from a2a.utils.grpc_status import status_from_call
from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]

from a2a_adapters.calling.auth import TrustedHostAuth
from a2a_adapters.calling.errors import (
    RemoteAnswerError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteRefusedError,
)
from a2a_adapters.calling.failures import (
    NotBegunError,
    UnauthorizedError,
    back_off,
    retried,
)
from a2a_adapters.contract.text import quote
from a2a_adapters.net.proxies import Proxies
from a2a_adapters_grpc.calling.channel import CountedChannel, connect, open_channel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from a2a.types import StreamResponse

    from a2a_adapters.calling.options import RemoteOptions
    from a2a_adapters.contract.bindings import RemoteInterface

_CODES = {
    grpc.StatusCode.NOT_FOUND: -32001,
    grpc.StatusCode.UNIMPLEMENTED: -32601,
    grpc.StatusCode.INVALID_ARGUMENT: -32602,
    grpc.StatusCode.INTERNAL: -32603,
}
"""The JSON-RPC codes of errors without an A2A reason."""

_UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED

_LOST = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
    }
)

_BROKEN = frozenset({grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL})
"""The statuses of calls that a proxy cut off, and of internal errors of the agent."""

_CUT = re.compile("RST_STREAM|GOAWAY|stream removed", re.IGNORECASE)
"""Matches gRPC's details of a call that a proxy cut off."""


def _call(name: str) -> Any:
    """Return a method of `GrpcTransport` that makes a call and retries it unless it has started."""

    async def call(
        self: GrpcTransport, request: Any, *, context: ClientCallContext | None = None
    ) -> Any:
        return await retried(
            lambda: self.call_once(name, request, context), self.retries, _has_not_begun
        )

    return call


def _has_not_begun(error: Exception) -> bool:
    return isinstance(error, NotBegunError)


def _stream(name: str) -> Any:
    """Return a method of `GrpcTransport` that streams answers, retried as in `_call`."""

    async def stream(
        self: GrpcTransport, request: Any, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        for attempt in count():
            try:
                async with aclosing(self.stream_once(name, request, context)) as events:
                    async for event in events:
                        yield event
            except NotBegunError:
                if attempt >= self.retries:
                    raise
            else:
                return
            await asyncio.sleep(back_off(attempt))

    return stream


class GrpcTransport(ClientTransport):
    """Calls an agent's gRPC interface.

    Args:
        interface: The interface and the resources for calling it.
        url: Its address; the scheme `https` stands for TLS.
    """

    def __init__(self, interface: RemoteInterface, url: httpx.URL) -> None:
        self._card = interface.card
        self._url = url
        self._http = interface.http
        self._origin = interface.origin
        self._options: RemoteOptions = interface.options
        self._proxy = Proxies(self._options.proxy).of(url)
        self.retries = self._options.retries
        self._closing = interface.closing
        self._kind = CompatGrpcTransport if interface.is_old else SdkTransport
        self._opening = asyncio.Lock()
        self._inner: SdkTransport | CompatGrpcTransport | None = None
        self._channel: grpc.aio.Channel

    send_message = _call("send_message")
    send_message_streaming = _stream("send_message_streaming")
    subscribe = _stream("subscribe")
    get_task = _call("get_task")
    list_tasks = _call("list_tasks")
    cancel_task = _call("cancel_task")
    create_task_push_notification_config = _call("create_task_push_notification_config")
    get_task_push_notification_config = _call("get_task_push_notification_config")
    list_task_push_notification_configs = _call("list_task_push_notification_configs")
    delete_task_push_notification_config = _call("delete_task_push_notification_config")
    get_extended_agent_card = _call("get_extended_agent_card")

    async def close(self) -> None:
        """Close the channel."""
        if self._inner is not None:
            await self._inner.close()

    async def call_once(self, name: str, request: Any, context: ClientCallContext | None) -> Any:
        """Make a call, and return its answer; retry it once if there are other credentials."""
        sent = await self._credentials()
        try:
            return await self._call(name, request, context, sent)
        except UnauthorizedError as error:
            other = await self._other_credentials(error, sent)
        return await self._call(name, request, context, other)

    async def _call(
        self, name: str, request: Any, context: ClientCallContext | None, sent: Mapping[str, str]
    ) -> Any:
        inner, context = await self._ready(context, sent)
        try:
            async with asyncio.timeout(self._options.idle_timeout):
                return await getattr(inner, name)(request, context=context)
        except TimeoutError as error:
            raise RemoteConnectionError("the agent was silent for too long") from error
        except A2AClientError as error:
            raise _failure(error) from error

    async def stream_once(
        self, name: str, request: Any, context: ClientCallContext | None
    ) -> AsyncGenerator[StreamResponse]:
        """Make a call, and yield its answers, as `call_once` does."""
        sent, has_begun = await self._credentials(), False
        try:
            async with aclosing(self._stream(name, request, context, sent)) as events:
                async for event in events:
                    has_begun = True
                    yield event
        except UnauthorizedError as error:
            if has_begun:
                raise
            other = await self._other_credentials(error, sent)
        else:
            return
        async with aclosing(self._stream(name, request, context, other)) as events:
            async for event in events:
                yield event

    async def _stream(
        self, name: str, request: Any, context: ClientCallContext | None, sent: Mapping[str, str]
    ) -> AsyncGenerator[StreamResponse]:
        inner, context = await self._ready(context, sent)
        left = self._options.answer_bytes
        async with aclosing(getattr(inner, name)(request, context=context)) as events:
            while True:
                try:
                    async with asyncio.timeout(self._options.idle_timeout):
                        event = await anext(events)
                except StopAsyncIteration:
                    return
                except TimeoutError as error:
                    raise RemoteConnectionError("the agent was silent for too long") from error
                except A2AClientError as error:
                    raise _failure(error) from error
                left -= event.ByteSize()
                if left < 0:
                    most = self._options.answer_bytes
                    raise RemoteAnswerError(f"the agent's answer is over {most:,} bytes")
                yield event

    async def _ready(
        self, context: ClientCallContext | None, sent: Mapping[str, str]
    ) -> tuple[SdkTransport | CompatGrpcTransport, ClientCallContext]:
        """Connect if necessary; return a2a-sdk's transport and a context with the credentials."""
        async with self._opening:
            if self._inner is None:
                channel = await open_channel(self._url, self._origin, self._options, self._proxy)
                self._closing.push_async_callback(channel.close)
                counted = CountedChannel(channel, self._options.answer_values)
                self._channel = channel
                self._inner = self._kind(cast("grpc.aio.Channel", counted), self._card)
        await connect(self._channel, self._options.connect_timeout, self._proxy)
        parameters = dict(context.service_parameters or {}) if context else {}
        parameters |= sent
        return self._inner, ClientCallContext(service_parameters=parameters)

    async def _other_credentials(
        self, error: UnauthorizedError, sent: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return other credentials after a refusal, or raise the refusal if there are none."""
        call = error.__cause__.__cause__ if error.__cause__ else None
        is_refused = isinstance(call, grpc.aio.AioRpcError) and call.code() is _UNAUTHENTICATED
        if is_refused and (other := await self._credentials(sent)) != sent:
            return other
        raise error

    async def _credentials(self, refused: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the headers that the client's authentication adds to a request.

        Args:
            refused: Those that the agent refused, which are replaced as after HTTP 401.
        """
        auth = self._http.auth
        if not isinstance(auth, TrustedHostAuth) or auth.adds_nothing:
            return {}
        request = httpx.Request("POST", self._url)
        before = dict(request.headers)
        flow = auth.async_auth_flow(request)
        async with aclosing(flow):
            prepared = await anext(flow)
            while prepared.url != self._url:  # a token is fetched first
                response = await self._http.send(prepared, auth=None)
                prepared = await flow.asend(response)
            headers = {name: v for name, v in prepared.headers.items() if before.get(name) != v}
            if headers == refused:
                with suppress(StopAsyncIteration):
                    prepared = await flow.asend(httpx.Response(401, request=prepared))
                headers = {n: v for n, v in prepared.headers.items() if before.get(n) != v}
        if not all(value.isascii() for value in headers.values()):
            raise RemoteAuthError("credentials for gRPC must be ASCII")
        return headers


def _failure(error: A2AClientError) -> Exception:
    """Translate an error of a2a-sdk's client into one of this package's errors."""
    cause = error.__cause__
    if not isinstance(cause, grpc.aio.AioRpcError):
        return error
    code, text = cause.code(), quote(cause.details() or "no details")
    reason = _reason(cause)
    if reason == "SERVER_BUSY":
        return NotBegunError(f"the agent is busy: {text}")
    if code in (_UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        return UnauthorizedError(f"the agent requires other credentials ({code.name}): {text}")
    is_cut = code in _BROKEN and not reason and _CUT.search(text)
    if code in _LOST or is_cut or reason == "READER_BEHIND":
        return RemoteConnectionError(f"the connection failed ({code.name}): {text}")
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return RemoteAnswerError(f"a limit was exceeded: {text}")
    known = A2A_REASON_TO_ERROR.get(reason)
    number = JSON_RPC_ERROR_CODE_MAP.get(known, 0) if known else _CODES.get(code, 0)
    return RemoteRefusedError(f"the agent refused: {text}", code=number)


def _reason(error: grpc.aio.AioRpcError) -> str:
    status = status_from_call(error)
    info = ErrorInfo()
    for detail in status.details if status else ():
        if detail.Unpack(info):
            return str(info.reason)
    return ""
