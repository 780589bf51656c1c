"""Streams of tasks in other processes, which follow takeovers."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

from a2a.types import (
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import UnsupportedOperationError

from a2a_adapters.observability.failures import hidden
from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import ConversationElsewhereError, StorageUnavailableError
from a2a_adapters.protocol.generation import drafted
from a2a_adapters.runtime.subscriber import Subscription
from a2a_adapters.runtime.updates import Update
from a2a_adapters_sql.replicas.calls import Call, unpack
from a2a_adapters_sql.replicas.locations import Location
from a2a_adapters_sql.replicas.peers import PeerLostError, check_repeat

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence

    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event
    from a2a.utils.errors import A2AError

    from a2a_adapters.observability.figures import Figures
    from a2a_adapters.runtime import Runtime
    from a2a_adapters.runtime.subscriber import Subscriber
    from a2a_adapters.runtime.updates import AnyUpdate
    from a2a_adapters_sql.replicas.locations import Locator
    from a2a_adapters_sql.replicas.peers import Peers

PAUSE_SECONDS = 0.5
"""Interval for polling a task without a live process."""


class Follower:
    """Follows tasks from process to process.

    Args:
        runtime: The runtime of this process.
        locator: Locates tasks.
        peers: The other processes.
    """

    def __init__(self, runtime: Runtime, locator: Locator, peers: Peers) -> None:
        self._runtime = runtime
        self._locator = locator
        self._peers = peers

    async def events(
        self,
        task_id: str,
        context: ServerCallContext,
        call: Call | None = None,
        process: str | None = None,
    ) -> AsyncGenerator[Sequence[Event]]:
        """Yield a task's events, whichever process runs it, until it is terminal or interrupted.

        Args:
            task_id: The task id; "" if `call` starts a new task.
            context: The reader's context.
            call: A message to send first.
            process: The process to send it to, if known.
        """
        last_status: TaskStatus | None = None
        while True:
            location = (
                Location(process) if process else await self._locator.locate(task_id, context)
            )
            if location.is_ours and not self._locator.is_here(task_id, location):
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            before, process, is_at_rest = last_status, None, call is None and location.is_at_rest
            try:
                batches = (
                    self._events_at_rest(task_id, context, last_status)
                    if is_at_rest
                    else self._events_at(location, task_id, context, call)
                )
                async with aclosing(_until_settled(batches, before)) as events:
                    async for batch in events:
                        task_id = task_id or _task_id(batch[0])
                        last_status = _status_after(batch, last_status)
                        yield batch
                if _has_ended(last_status, before, is_at_rest=is_at_rest):
                    return
                call = None
            except ConversationElsewhereError as error:
                task_id = task_id or error.task_id
                if call is not None and not error.task_id:
                    process = await self._locator.redirected(error, task_id, context)
            except PeerLostError as error:
                call = _left_to_send(call, error) if last_status is None else None
            except (StorageUnavailableError, UnsupportedOperationError):
                if last_status is None:
                    raise
            await asyncio.sleep(PAUSE_SECONDS)  # until the task is recovered

    async def _events_at_rest(
        self, task_id: str, context: ServerCallContext, last_status: TaskStatus | None
    ) -> AsyncGenerator[Sequence[Event]]:
        """Yield a task without a process if it has ended or asked since the last event."""
        task = (await self._runtime.live.find(task_id, context)).shown
        assert task is not None  # noqa: S101 - tasks are found once announced
        if last_status is None or _is_newly_settled(task.status, last_status):
            yield [task]

    async def _events_at(
        self, location: Location, task_id: str, context: ServerCallContext, call: Call | None
    ) -> AsyncGenerator[Sequence[Event]]:
        """Yield a task's events until it moves."""
        subscribe = SubscribeToTaskRequest(id=task_id)
        if location.process is not None:
            call = call or Call.of("SubscribeToTask", subscribe, context)
            async with aclosing(self._peers.read(location.process, call)) as parts:
                async for part in parts:
                    yield list(unpack(part))
            return
        if call is None:
            subscription = await self._runtime.open_subscription(subscribe, context)
        else:  # the process died without receiving it
            sent = SendMessageRequest.FromString(call.params)
            subscription = await self._runtime.open_stream(sent, context)
        async with aclosing(subscription.events()) as events:
            async for event in events:
                yield [event]


class FollowedSubscription(Subscription):
    """Passes the events of a task from another process to a reader.

    Args:
        reader: The reader's queue.
        figures: Count the stream.
        batches: The events, in the batches received.
    """

    def __init__(
        self, reader: Subscriber, figures: Figures, batches: AsyncGenerator[Iterable[Event]]
    ) -> None:
        super().__init__(reader, figures)
        self._error: A2AError | None = None
        self._has_begun = asyncio.Event()
        self._reading = asyncio.create_task(self._read(reader, batches))

    async def begun(self) -> FollowedSubscription:
        """Wait for the first event.

        Raises:
            A2AError: The stream has no event.
        """
        try:
            await self._has_begun.wait()
        except BaseException:
            self.close()
            raise
        if self._error is not None and not self._subscriber.has_begun:
            self.close()
            raise self._error
        return self

    async def take(self) -> list[AnyUpdate]:
        """Wait for updates and return all that are available; an empty list is the end."""
        updates = await super().take()
        if not updates and self._error is not None:
            raise self._error
        return updates

    def close(self) -> None:
        """Stop reading."""
        super().close()
        self._reading.cancel()

    async def _read(self, reader: Subscriber, batches: AsyncGenerator[Iterable[Event]]) -> None:
        try:
            async with aclosing(batches):
                async for events in batches:
                    for event in events:
                        reader.push(Update(event, generation=drafted(event) or 0))
                    reader.has_begun = True
                    self._has_begun.set()
                    await reader.caught_up()  # backpressure for the other process
                    if reader.is_closed:
                        return
        except Exception as error:  # reported to the reader
            self._error = hidden(error, "a stream of another process")
        finally:
            reader.close()
            self._has_begun.set()


class ReopeningSubscription(Subscription):
    """Reopens itself in another process if the task has been taken over before the first event.

    Args:
        first: The stream opened in this process.
        reopen: Reopens the stream; raises an `A2AError` on refusal.
    """

    def __init__(self, first: Subscription, reopen: Callable[[], Awaitable[Subscription]]) -> None:
        self._stream = first
        self._reopen = reopen

    async def take(self) -> list[AnyUpdate]:
        """Wait for updates and return all that are available; an empty list is the end."""
        try:
            return await self._stream.take()
        except ConversationElsewhereError:  # no event was sent yet
            self._stream.close()
            self._stream = await self._reopen()
            return await self._stream.take()

    def close(self) -> None:
        """Stop reading."""
        self._stream.close()


def _left_to_send(call: Call | None, lost: PeerLostError) -> Call | None:
    """Return the message to resend to the task's new process, if it was not received.

    Raises:
        StorageUnavailableError: The message may have been accepted.
    """
    if call is not None:
        sent = SendMessageRequest.FromString(call.params)
        check_repeat(call.operation, sent, call.owner, lost)
    return call


def _task_id(event: Event) -> str:
    return event.id if isinstance(event, Task) else event.task_id


def _status_after(events: Sequence[Event], status: TaskStatus | None) -> TaskStatus | None:
    """Return the status of a task after its latest events."""
    for event in events:
        if isinstance(event, Message):
            return TaskStatus(state=states.COMPLETED)
        if isinstance(event, Task | TaskStatusUpdateEvent):
            status = event.status
    return status


async def _until_settled(
    batches: AsyncGenerator[Sequence[Event]], before: TaskStatus | None
) -> AsyncGenerator[Sequence[Event]]:
    """Yield events until the task is terminal or interrupted, even if that event was missed."""
    async with aclosing(batches):
        async for batch in batches:
            yield batch
            if _is_newly_settled(_status_after(batch, before), before):
                return


def _is_newly_settled(status: TaskStatus | None, before: TaskStatus | None) -> bool:
    """Return whether a task has ended or asked again, perhaps with the same question."""
    if status is None or before is None:
        return False
    return status.state in states.SETTLED and status != before


def _has_ended(status: TaskStatus | None, before: TaskStatus | None, *, is_at_rest: bool) -> bool:
    """Return whether the stream of a task is complete.

    Args:
        status: The status of the task now.
        before: The status last sent to the reader.
        is_at_rest: Whether no process has run it since; then an old question may still be
            answered.
    """
    if status is None:
        return False
    if is_at_rest:
        return status.state in states.TERMINAL or _is_newly_settled(status, before)
    return status.state in states.SETTLED
