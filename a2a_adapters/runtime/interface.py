"""The interface of a runtime for bindings and servers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import aclosing, closing
from typing import TYPE_CHECKING

from a2a_adapters.observability.failures import OperationGuard

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event
    from a2a.server.request_handlers import RequestHandler
    from a2a.types import SendMessageRequest, SubscribeToTaskRequest

    from a2a_adapters.observability.figures import Figures
    from a2a_adapters.runtime.admission import Admission
    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.subscriber import Subscription
    from a2a_adapters.runtime.updates import AnyUpdate
else:
    RequestHandler = ABC  # importing it makes 0.3's models of JSON-RPC, which takes 80 ms


class Recovery:
    """Recovers tasks of dead processes. Here there are none: the storage dies with its process."""

    async def sweep(self) -> None:
        """Resume orphaned tasks, and fail those that cannot be resumed."""

    async def recover(self, live: LiveTask) -> None:
        """Sweep if the context of a task has orphaned tasks, which come first.

        Raises:
            StorageUnavailableError: They cannot be recovered yet.
        """

    def lose(self, live: LiveTask) -> None:
        """Stop the work on a task that another process has taken."""

    def leave(self, live: LiveTask) -> bool:  # noqa: ARG002
        """Leave an unfinished task to the next process; return whether that can resume it."""
        return False


class StreamingHandler(RequestHandler):
    """An a2a-sdk `RequestHandler` whose streams can be opened before they are read.

    Attributes:
        admission: Checks messages.
        figures: Counters of the agent.
    """

    admission: Admission
    figures: Figures

    @abstractmethod
    async def start(self) -> None:
        """Recover the tasks of dead processes, and start background work."""

    @abstractmethod
    def hurry(self) -> None:
        """Let `aclose` wait for running tasks no longer."""

    @abstractmethod
    async def aclose(self) -> None:
        """Refuse new messages, wait for running tasks, then end them."""

    @abstractmethod
    async def open_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Subscription:
        """Start answering a message and return the stream of its events.

        Raises:
            A2AError: The message was refused. If the agent itself refuses it later, reading the
                subscription raises instead.
        """

    @abstractmethod
    async def open_subscription(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> Subscription:
        """Return the stream of a task that is not terminal.

        Raises:
            TaskNotFoundError: The caller has no such task.
            UnsupportedOperationError: The task is terminal.
        """

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Answer a message; yield the task, then its events until it is settled."""
        async with aclosing(self.updates(params, context)) as batches:
            async for updates in batches:
                for update in updates:
                    yield update.event

    async def updates(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Sequence[AnyUpdate]]:
        """Answer a message; yield the same events in batches."""
        subscription = await self.open_stream(params, context)
        with OperationGuard("SendStreamingMessage"), closing(subscription):
            while updates := await subscription.take():
                yield updates

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Yield the task as it is now, then its events until it is settled again."""
        subscription = await self.open_subscription(params, context)
        with OperationGuard("SubscribeToTask"):
            async for event in subscription.events():
                yield event
