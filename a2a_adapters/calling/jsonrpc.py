"""JSON-RPC to an agent of A2A 1.0.

a2a-sdk's transport drops the error object of an answer whose HTTP status is not 200, splits
events at U+2028, and parses each of them by reflection (seen in 1.3.0). The calls that
`RemoteAgent` makes are made here; the others are inherited. So it is with the other bindings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.client.transports.jsonrpc import JsonRpcTransport as SdkTransport
from a2a.types import SendMessageResponse, StreamResponse, Task

from a2a_adapters.calling import nearly
from a2a_adapters.calling.json_http import parsed
from a2a_adapters.calling.rpc import Rpc
from a2a_adapters.protocol.wire import send_to_dict, to_dict

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx
    from a2a.client import ClientCallContext
    from a2a.types import (
        AgentCard,
        CancelTaskRequest,
        GetTaskRequest,
        SendMessageRequest,
        SubscribeToTaskRequest,
    )


class JsonRpcTransport(SdkTransport):
    """Calls an agent's JSON-RPC interface."""

    def __init__(self, http: httpx.AsyncClient, card: AgentCard, url: str) -> None:
        super().__init__(http, card, url, is_shared_httpx=True)
        self._rpc = Rpc(http, url, "1.0")

    async def send_message(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> SendMessageResponse:
        """Send a message and wait for the task or message that answers it."""
        return await self._rpc.call("SendMessage", send_to_dict(request), context, _sent)

    def send_message_streaming(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Send a message and yield what happens to its task."""
        params, make = send_to_dict(request), nearly.response
        return self._rpc.stream("SendStreamingMessage", params, context, make)

    def subscribe(
        self, request: SubscribeToTaskRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Yield a task and what happens to it."""
        params, make = to_dict(request), nearly.response
        return self._rpc.stream("SubscribeToTask", params, context, make)

    async def get_task(
        self, request: GetTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Return a task."""
        return await self._rpc.call("GetTask", to_dict(request), context, _task)

    async def cancel_task(
        self, request: CancelTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Cancel a task."""
        return await self._rpc.call("CancelTask", to_dict(request), context, _task)


def _sent(result: object) -> SendMessageResponse:
    return parsed(nearly.event(result), SendMessageResponse())


def _task(result: object) -> Task:
    return parsed(nearly.mended(result), Task())
