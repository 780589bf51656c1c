"""gRPC to an agent of A2A 1.0 or 0.3, bounded and careful as the other bindings are.

a2a-sdk's transports make and read the messages. What they leave out is here: credentials,
limits of time and size, another try where nothing was begun, and typed errors.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing
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
from a2a_adapters.calling.failures import NotBegunError, UnauthorizedError, back_off
from a2a_adapters.calling.grpc_channel import CountedChannel, connect, open_channel
from a2a_adapters.protocol.shown import quote

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AsyncExitStack

    from a2a.types import (
        AgentCard,
        CancelTaskRequest,
        DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest,
        GetTaskRequest,
        ListTaskPushNotificationConfigsRequest,
        ListTaskPushNotificationConfigsResponse,
        ListTasksRequest,
        ListTasksResponse,
        SendMessageRequest,
        SendMessageResponse,
        StreamResponse,
        SubscribeToTaskRequest,
        Task,
        TaskPushNotificationConfig,
    )

    from a2a_adapters.calling.options import RemoteOptions

_CODES = {
    grpc.StatusCode.NOT_FOUND: -32001,
    grpc.StatusCode.UNIMPLEMENTED: -32601,
    grpc.StatusCode.INVALID_ARGUMENT: -32602,
    grpc.StatusCode.INTERNAL: -32603,
}
"""The codes of JSON-RPC for errors that tell no reason of A2A's."""

_LOST = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
    }
)

_BROKEN = frozenset({grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL})
"""The statuses of calls that a proxy cut, and of errors of the agent's."""

_CUT = re.compile("RST_STREAM|GOAWAY|stream removed", re.IGNORECASE)
"""Matches gRPC's details of a call that a proxy cut."""


class GrpcTransport(ClientTransport):
    """Calls an agent's gRPC interface.

    Args:
        card: The agent's card.
        url: The interface's address, with the scheme that says whether TLS is used.
        http: The client of HTTP whose credentials are sent.
        origin: The agent's own address; None if its card was given.
        options: Limits and choices.
        closing: Closes the channel.
        is_old: Whether the interface is of A2A 0.3.
    """

    def __init__(
        self,
        card: AgentCard,
        url: httpx.URL,
        http: httpx.AsyncClient,
        origin: httpx.URL | None,
        options: RemoteOptions,
        closing: AsyncExitStack,
        *,
        is_old: bool,
    ) -> None:
        self._card = card
        self._url = url
        self._http = http
        self._origin = origin
        self._options = options
        self._closing = closing
        self._kind = CompatGrpcTransport if is_old else SdkTransport
        self._opening = asyncio.Lock()
        self._inner: SdkTransport | CompatGrpcTransport | None = None
        self._channel: grpc.aio.Channel

    async def send_message(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> SendMessageResponse:
        """Send a message and wait for the task or message that answers it."""
        response: SendMessageResponse = await self._call("send_message", request, context)
        return response

    async def send_message_streaming(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Send a message and yield what happens to its task."""
        async with aclosing(self._stream("send_message_streaming", request, context)) as events:
            async for event in events:
                yield event

    async def subscribe(
        self, request: SubscribeToTaskRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Yield what happens to a task from now on."""
        async with aclosing(self._stream("subscribe", request, context)) as events:
            async for event in events:
                yield event

    async def get_task(
        self, request: GetTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Return a task as it now is."""
        task: Task = await self._call("get_task", request, context)
        return task

    async def list_tasks(
        self, request: ListTasksRequest, *, context: ClientCallContext | None = None
    ) -> ListTasksResponse:
        """Return a page of tasks."""
        page: ListTasksResponse = await self._call("list_tasks", request, context)
        return page

    async def cancel_task(
        self, request: CancelTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Stop the work on a task."""
        task: Task = await self._call("cancel_task", request, context)
        return task

    async def create_task_push_notification_config(
        self, request: TaskPushNotificationConfig, *, context: ClientCallContext | None = None
    ) -> TaskPushNotificationConfig:
        """Have the changes of a task sent somewhere."""
        name = "create_task_push_notification_config"
        config: TaskPushNotificationConfig = await self._call(name, request, context)
        return config

    async def get_task_push_notification_config(
        self,
        request: GetTaskPushNotificationConfigRequest,
        *,
        context: ClientCallContext | None = None,
    ) -> TaskPushNotificationConfig:
        """Return where the changes of a task are sent."""
        name = "get_task_push_notification_config"
        config: TaskPushNotificationConfig = await self._call(name, request, context)
        return config

    async def list_task_push_notification_configs(
        self,
        request: ListTaskPushNotificationConfigsRequest,
        *,
        context: ClientCallContext | None = None,
    ) -> ListTaskPushNotificationConfigsResponse:
        """Return everywhere that the changes of a task are sent."""
        name = "list_task_push_notification_configs"
        found: ListTaskPushNotificationConfigsResponse = await self._call(name, request, context)
        return found

    async def delete_task_push_notification_config(
        self,
        request: DeleteTaskPushNotificationConfigRequest,
        *,
        context: ClientCallContext | None = None,
    ) -> None:
        """Have the changes of a task sent there no more."""
        await self._call("delete_task_push_notification_config", request, context)

    async def get_extended_agent_card(
        self, request: GetExtendedAgentCardRequest, *, context: ClientCallContext | None = None
    ) -> AgentCard:
        """Return the card for authenticated callers."""
        card: AgentCard = await self._call("get_extended_agent_card", request, context)
        return card

    async def close(self) -> None:
        """Close the channel."""
        if self._inner is not None:
            await self._inner.close()

    async def _call(self, name: str, request: Any, context: ClientCallContext | None) -> Any:
        for attempt in range(self._options.retries):
            try:
                return await self._call_once(name, request, context)
            except NotBegunError:
                await asyncio.sleep(back_off(attempt))
        return await self._call_once(name, request, context)

    async def _call_once(self, name: str, request: Any, context: ClientCallContext | None) -> Any:
        inner, context = await self._ready(context)
        try:
            async with asyncio.timeout(self._options.idle_timeout):
                return await getattr(inner, name)(request, context=context)
        except TimeoutError as error:
            raise RemoteConnectionError("the agent was silent for too long") from error
        except A2AClientError as error:
            raise _failure(error) from error

    async def _stream(
        self, name: str, request: Any, context: ClientCallContext | None
    ) -> AsyncGenerator[StreamResponse]:
        for attempt in range(self._options.retries):
            try:
                async with aclosing(self._stream_once(name, request, context)) as events:
                    async for event in events:
                        yield event
            except NotBegunError:
                await asyncio.sleep(back_off(attempt))
            else:
                return
        async with aclosing(self._stream_once(name, request, context)) as events:
            async for event in events:
                yield event

    async def _stream_once(
        self, name: str, request: Any, context: ClientCallContext | None
    ) -> AsyncGenerator[StreamResponse]:
        inner, context = await self._ready(context)
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
        self, context: ClientCallContext | None
    ) -> tuple[SdkTransport | CompatGrpcTransport, ClientCallContext]:
        """Return what a call is made by, once it is connected, and what is sent with it."""
        async with self._opening:
            if self._inner is None:
                channel = await open_channel(self._url, self._origin, self._options)
                self._closing.push_async_callback(channel.close)
                counted = CountedChannel(channel, self._options.answer_values)
                self._channel = channel
                self._inner = self._kind(cast("grpc.aio.Channel", counted), self._card)
        await connect(self._channel, self._options.connect_timeout)
        parameters = dict(context.service_parameters or {}) if context else {}
        parameters |= await self._credentials()
        return self._inner, ClientCallContext(service_parameters=parameters)

    async def _credentials(self) -> dict[str, str]:
        """Return the headers that the client's authentication adds to a request."""
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
        if not all(value.isascii() for value in headers.values()):
            raise RemoteAuthError("credentials for gRPC have to be ASCII")
        return headers


def _failure(error: A2AClientError) -> Exception:
    """Return what a call ended with as one of this package's errors."""
    cause = error.__cause__
    if not isinstance(cause, grpc.aio.AioRpcError):
        return error
    code, text = cause.code(), quote(cause.details() or "it said no more")
    reason = _reason(cause)
    if reason == "SERVER_BUSY":
        return NotBegunError(f"the agent is busy: {text}")
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        return UnauthorizedError(
            f"the agent wants credentials, or other ones ({code.name}): {text}"
        )
    is_cut = code in _BROKEN and not reason and _CUT.search(text)
    if code in _LOST or is_cut or reason == "READER_BEHIND":
        return RemoteConnectionError(f"the connection failed ({code.name}): {text}")
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return RemoteAnswerError(f"something is too large, or there is too much of it: {text}")
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
