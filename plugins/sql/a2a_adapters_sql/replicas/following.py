"""Streams of tasks that other processes work on, wherever the task moves meanwhile."""

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

from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import ConversationElsewhereError, StorageUnavailableError
from a2a_adapters.runtime.guard import hidden
from a2a_adapters.runtime.subscriber import Subscription
from a2a_adapters.runtime.updates import Update
from a2a_adapters_sql.replicas.calls import Call, unpack
from a2a_adapters_sql.replicas.peers import PeerLostError, check_repeat
from a2a_adapters_sql.replicas.places import Place

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence

    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event
    from a2a.utils.errors import A2AError

    from a2a_adapters.observability.figures import Figures
    from a2a_adapters.runtime import Runtime
    from a2a_adapters.runtime.subscriber import Subscriber
    from a2a_adapters.runtime.updates import AnyUpdate
    from a2a_adapters_sql.replicas.peers import Peers
    from a2a_adapters_sql.replicas.places import Locator

PAUSE_SECONDS = 0.5
"""How often a task is looked at that no living process works on."""


class Follower:
    """Follows tasks from process to process.

    Args:
        runtime: The runtime of this process.
        locator: Finds the tasks.
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
        """Yield a task's events, whichever process works on it, until it ends or asks.

        Args:
            task_id: The task; empty if `call` begins one.
            context: Who reads them.
            call: A message that is yet to be sent.
            process: Where it is sent, if that is known.
        """
        told: TaskStatus | None = None
        while True:
            place = Place(process) if process else await self._locator.place_of(task_id, context)
            if place.is_ours and not self._locator.is_here(task_id, place):
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            before, process, is_at_rest = told, None, call is None and place.is_at_rest
            try:
                batches = (
                    self._events_at_rest(task_id, context, told)
                    if is_at_rest
                    else self._events_at(place, task_id, context, call)
                )
                async with aclosing(_until_settled(batches, before)) as events:
                    async for batch in events:
                        task_id = task_id or _task_id(batch[0])
                        told = _status_after(batch, told)
                        yield batch
                if _has_ended(told, before, is_at_rest=is_at_rest):
                    return
                call = None
            except ConversationElsewhereError as error:
                task_id = task_id or error.task_id
                if call is not None and not error.task_id:
                    process = await self._locator.redirected(error, task_id, context)
            except PeerLostError as error:
                call = _left_to_send(call, error) if told is None else None
            except (StorageUnavailableError, UnsupportedOperationError):
                if told is None:
                    raise
            await asyncio.sleep(PAUSE_SECONDS)  # until it is clear whose the task is now

    async def _events_at_rest(
        self, task_id: str, context: ServerCallContext, told: TaskStatus | None
    ) -> AsyncGenerator[Sequence[Event]]:
        """Yield a task that no process works on if it has ended or asked since it was told."""
        task = (await self._runtime.live.find(task_id, context)).shown
        assert task is not None  # noqa: S101 - tasks are found once announced
        if told is None or _is_settled_anew(task.status, told):
            yield [task]

    async def _events_at(
        self, place: Place, task_id: str, context: ServerCallContext, call: Call | None
    ) -> AsyncGenerator[Sequence[Event]]:
        """Yield a task's events as long as it stays where it is."""
        subscribe = SubscribeToTaskRequest(id=task_id)
        if place.process is not None:
            call = call or Call.of("SubscribeToTask", subscribe, context)
            async with aclosing(self._peers.read(place.process, call)) as parts:
                async for part in parts:
                    yield list(unpack(part))
            return
        if call is None:
            subscription = await self._runtime.open_subscription(subscribe, context)
        else:  # the process that it was for is gone, and has not heard it
            sent = SendMessageRequest.FromString(call.params)
            subscription = await self._runtime.open_stream(sent, context)
        async with aclosing(subscription.events()) as events:
            async for event in events:
                yield [event]


class FollowedSubscription(Subscription):
    """Gives a reader the events of a task as they come from another process.

    Args:
        reader: The reader's queue.
        figures: Count the stream.
        batches: The events, by what came at once.
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
            A2AError: There is none.
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
        """Wait for updates and return all there are; an empty list is the end."""
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
                        reader.push(Update(event))
                    reader.has_begun = True
                    self._has_begun.set()
                    await reader.caught_up()  # until then the other process is not asked on
                    if reader.is_closed:
                        return
        except Exception as error:  # the reader is told
            self._error = hidden(error, "a stream of another process")
        finally:
            reader.close()
            self._has_begun.set()


class ReopeningSubscription(Subscription):
    """Is opened again, wherever the task is then, if another process has taken it.

    Args:
        first: The stream as it was opened here.
        reopen: Opens it again; raises an `A2AError` if that is refused.
    """

    def __init__(self, first: Subscription, reopen: Callable[[], Awaitable[Subscription]]) -> None:
        self._stream = first
        self._reopen = reopen

    async def take(self) -> list[AnyUpdate]:
        """Wait for updates and return all there are; an empty list is the end."""
        try:
            return await self._stream.take()
        except ConversationElsewhereError:  # nothing was told
            self._stream.close()
            self._stream = await self._reopen()
            return await self._stream.take()

    def close(self) -> None:
        """Stop reading."""
        self._stream.close()


def _left_to_send(call: Call | None, lost: PeerLostError) -> Call | None:
    """Return the message that is yet to be sent to the process that has its task now.

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
    """Yield events to the end of the task or its next question, which may have come unheard."""
    async with aclosing(batches):
        async for batch in batches:
            yield batch
            if _is_settled_anew(_status_after(batch, before), before):
                return


def _is_settled_anew(status: TaskStatus | None, before: TaskStatus | None) -> bool:
    """Return whether a task has ended or asked since, perhaps the same as before."""
    if status is None or before is None:
        return False
    return status.state in states.SETTLED and status != before


def _has_ended(status: TaskStatus | None, before: TaskStatus | None, *, is_at_rest: bool) -> bool:
    """Return whether the stream of a task is complete.

    Args:
        status: The status of the task now.
        before: The status that the reader was told before.
        is_at_rest: Whether no process has worked on it since: then an old question may be
            answered yet.
    """
    if status is None:
        return False
    if is_at_rest:
        return status.state in states.TERMINAL or _is_settled_anew(status, before)
    return status.state in states.SETTLED
