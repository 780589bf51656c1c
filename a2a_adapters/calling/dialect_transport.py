"""The base class of transports for agents that speak a dialect."""

# ruff: noqa: ARG002 - dialects have no call contexts
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from a2a.compat.v0_3.jsonrpc_transport import CompatJsonRpcTransport
from a2a.types import SendMessageResponse
from a2a.utils.errors import UnsupportedOperationError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx
    from a2a.client import ClientCallContext
    from a2a.types import (
        AgentCard,
        CancelTaskRequest,
        GetTaskRequest,
        Message,
        SendMessageRequest,
        StreamResponse,
        SubscribeToTaskRequest,
        Task,
    )


class DialectTransport(CompatJsonRpcTransport, ABC):
    """Calls an agent whose dialect has messages, streams and tasks only.

    Args:
        http: The client for all calls.
        card: The agent's card.
        url: The agent's address.
    """

    def __init__(self, http: httpx.AsyncClient, card: AgentCard, url: str) -> None:
        super().__init__(http, card, url, is_shared_httpx=True)

    @abstractmethod
    async def send(self, message: Message) -> Task:
        """Send a message and return the task that answers it."""

    @abstractmethod
    def stream(self, message: Message) -> AsyncGenerator[StreamResponse]:
        """Send a message and yield the events of its task."""

    @abstractmethod
    async def find(self, task_id: str) -> Task:
        """Return the current state of a task."""

    @abstractmethod
    async def cancel(self, task_id: str) -> Task:
        """Cancel a task."""

    async def send_message(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> SendMessageResponse:
        """Send a message and wait for the task that answers it."""
        return SendMessageResponse(task=await self.send(request.message))

    def send_message_streaming(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Send a message and yield the events of its task."""
        return self.stream(request.message)

    async def get_task(
        self, request: GetTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Return the current state of a task."""
        return await self.find(request.id)

    async def cancel_task(
        self, request: CancelTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Cancel a task."""
        return await self.cancel(request.id)

    async def subscribe(
        self, request: SubscribeToTaskRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Raise `UnsupportedOperationError`: streams of dialects cannot be resumed."""
        raise UnsupportedOperationError
        yield  # makes this an async generator
