"""Readers of live tasks: their queues, their streams, and the total backlog."""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import ref

from a2a.types import Message, Task

from a2a_adapters.protocol.errors import ReaderBehindError
from a2a_adapters.runtime.updates import Update

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from a2a.server.events import Event
    from a2a.utils.errors import A2AError

    from a2a_adapters.contract.limits import Limits
    from a2a_adapters.observability.figures import Figures
    from a2a_adapters.runtime.updates import AnyUpdate

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

_SMALL_BYTES = 64 * 1024
"""Bytes that every reader may have queued, however large the total backlog is."""


class Subscriber:
    """A bounded queue of updates.

    The writer waits for a reader that falls too far behind, for a limited time. A reader that takes
    nothing in that time is cut off: it gets the queued updates, then an error, and may subscribe
    again. If the backlog of all readers is too large, its queue is dropped as well.

    Args:
        limits: Limits of the queue before the writer waits, and of the time that it waits.
        wants_progress: Whether the reader activated the progress extension.
        history_length: The maximum number of messages in a task's history; None is all.
    """

    __slots__ = (
        "_backlog",
        "_bytes",
        "_history_length",
        "_is_closed",
        "_is_cut_off",
        "_largest",
        "_limits",
        "_read",
        "_taken",
        "_updates",
        "_wakeup",
        "_wants_progress",
        "error",
        "has_begun",
    )

    def __init__(
        self,
        limits: Limits,
        backlog: Backlog,
        *,
        wants_progress: bool,
        history_length: int | None = None,
    ) -> None:
        self._limits = limits
        self._backlog = backlog
        self._history_length = history_length
        self._wants_progress = wants_progress
        self._updates: list[AnyUpdate] = []
        self._read: list[AnyUpdate] = []
        self._bytes = self._largest = 0
        self._wakeup: asyncio.Future[None] | None = None
        self._taken: asyncio.Future[None] | None = None
        self._is_closed = False
        self._is_cut_off = False
        self.has_begun = False
        self.error: A2AError | None = None
        """Why there are no updates, or no more."""

    def push(self, update: AnyUpdate) -> None:
        """Add an update."""
        if self._is_closed or (update.is_progress and not self._wants_progress):
            return
        if self._history_length is not None and type(update) is Update:
            update = update.with_history(self._history_length)
        size = update.size
        self._updates.append(update)
        self._backlog.hold(update)
        self._bytes += size
        self._largest = max(self._largest, size)
        if self._backlog.is_full and self._bytes > _SMALL_BYTES:
            self._drop()
            self._is_closed = self._is_cut_off = True
        _resolve(self._wakeup)

    @property
    def is_closed(self) -> bool:
        """Whether it takes no more updates."""
        return self._is_closed

    @property
    def is_behind(self) -> bool:
        """Whether the writer has to wait for this reader."""
        if self._is_closed:
            return False
        limits = self._limits
        has_many = len(self._updates) >= limits.subscriber_events
        return has_many or self._bytes - self._largest >= limits.subscriber_bytes

    async def caught_up(self) -> None:
        """Wait until the reader takes its updates; cut it off if it does not."""
        if not self.is_behind:
            return
        if self._taken is None or self._taken.done():
            self._taken = asyncio.get_running_loop().create_future()
        await asyncio.wait({self._taken}, timeout=self._limits.subscriber_seconds)
        if self.is_behind:
            self._is_closed = self._is_cut_off = True

    def close(self) -> None:
        """Take no more updates; the reader gets those that are queued."""
        self._is_closed = True
        _resolve(self._wakeup)
        _resolve(self._taken)

    async def take(self) -> list[AnyUpdate]:
        """Wait for updates and return all pending ones; an empty list marks the end.

        Updates taken before count as read.

        Raises:
            ReaderBehindError: This reader was cut off because it was too slow.
        """
        self._backlog.release(self._read)
        self._read = []
        if not self._updates and not self._is_closed:
            self._wakeup = asyncio.get_running_loop().create_future()
            await self._wakeup
        updates = self._read = self._updates
        self._updates = []
        self._bytes = self._largest = 0
        _resolve(self._taken)
        if not updates and self._is_cut_off:
            raise ReaderBehindError
        return updates

    def leave(self) -> None:
        """Release everything: the reader has left."""
        self.close()
        self._drop()
        self._backlog.release(self._read)
        self._read = []

    def _drop(self) -> None:
        self._backlog.release(self._updates)
        self._updates = []
        self._bytes = self._largest = 0


def _resolve(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)


_COPIES = 2
"""An update is held as an event and, during sending, also as JSON."""


class Backlog:
    """Counts the bytes of updates that are held, up to a limit.

    An update that subscribers share counts once.
    """

    __slots__ = ("_held", "_limit")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = 0

    @property
    def is_full(self) -> bool:
        """Whether the limit is exceeded."""
        return self._held > self._limit

    @property
    def is_half_full(self) -> bool:
        """Whether half of the limit is exceeded."""
        return 2 * self._held > self._limit

    def keep(self, size: int) -> None:
        """Count bytes that are kept beside the subscribers; a negative number releases some."""
        self._held += size

    def hold(self, update: AnyUpdate) -> None:
        """Count an update for one more subscriber."""
        if not update.readers:
            self._held += _COPIES * update.size
        update.readers += 1

    def release(self, updates: list[AnyUpdate]) -> None:
        """Count updates for one subscriber less."""
        for update in updates:
            update.readers -= 1
            if not update.readers:
                self._held -= _COPIES * update.size


class Receiver(Protocol[T_contra]):
    """Gets a task's updates as push notifications."""

    def push(self, update: AnyUpdate, live: T_contra) -> None:
        """Queue an update of `live` for sending."""


class Published(Protocol):
    """A live task."""

    receivers: dict[str, Receiver[Any]]

    def show(self, subscriber: Subscriber) -> None:
        """Send the task as it is now."""


def publish(update: AnyUpdate, subscribers: Iterable[Subscriber], live: Published) -> None:
    """Hand an update of a task to subscribers and to its push receivers.

    A subscriber that has received nothing yet gets the whole task in its place.
    """
    for subscriber in subscribers:
        if subscriber.has_begun or isinstance(update.event, Task | Message):
            subscriber.has_begun = True
            subscriber.push(update)
        else:
            live.show(subscriber)
    if live.receivers:
        for receiver in set(live.receivers.values()):
            receiver.push(update, live)


class Source(Protocol):
    """The source of the updates of a stream."""

    error: A2AError | None
    """Why there are none, or no more."""


class Subscription:
    """A stream of updates: read it to its end or close it. Closing never affects the task.

    Args:
        subscriber: Gets the updates.
        source: Their source, if that may fail.
        on_close: Called once when the reader has left.
    """

    def __init__(
        self,
        subscriber: Subscriber,
        figures: Figures,
        source: Source | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self._subscriber = subscriber
        self._source = source
        self._on_close = on_close
        self._figures = figures
        self._is_open = True
        figures.open_streams += 1

    async def take(self) -> list[AnyUpdate]:
        """Wait for updates and return all pending ones; an empty list marks the end.

        Raises:
            A2AError: The agent refused the message before any update, or this reader was too slow.
        """
        updates = await self._subscriber.take()
        if not updates and self._source is not None and self._source.error is not None:
            raise self._source.error
        return updates

    async def events(self) -> AsyncGenerator[Event]:
        """Yield the updates as protocol events, and close at the end."""
        try:
            while updates := await self.take():
                for update in updates:
                    yield update.event
        finally:
            self.close()

    def close(self) -> None:
        """Stop reading."""
        if not self._is_open:
            return
        self._is_open = False
        self._figures.open_streams -= 1
        self._subscriber.leave()
        if self._on_close is not None:
            self._on_close()


def leaving(
    live: T, leave: Callable[[T, Subscriber], None], subscriber: Subscriber
) -> Callable[[], None]:
    """Return a function that removes a reader. A slow reader does not keep a terminal task."""
    known = ref(live)

    def left() -> None:
        if (found := known()) is not None:
            leave(found, subscriber)

    return left


KEPT_BYTES = 1024 * 1024
"""Maximum size of the updates that a task keeps for interrupted streams."""

_UPDATE_BYTES = 512
"""The overhead of an update."""


class RecentUpdates:
    """The latest updates of a task without a gap, for readers whose stream was interrupted.

    They count in the backlog of all subscribers, and take up to half of it.
    """

    __slots__ = ("_backlog", "_bytes", "_updates")

    def __init__(self, backlog: Backlog) -> None:
        self._backlog = backlog
        self._bytes = 0
        self._updates: deque[AnyUpdate] = deque()

    def add(self, update: AnyUpdate) -> None:
        """Keep a published update."""
        if self._updates and update.generation != self._updates[-1].generation + 1:
            self.clear()
        self._updates.append(update)
        self._count(_size(update))
        while self._updates and (self._bytes > KEPT_BYTES or self._backlog.is_half_full):
            self._count(-_size(self._updates.popleft()))

    def since(self, generation: int, latest: int) -> list[AnyUpdate] | None:
        """Return the updates from one generation to the latest; None if some are not here."""
        missed = latest - generation
        if not missed:
            return []
        if not 0 < missed <= len(self._updates) or self._updates[-1].generation != latest:
            return None
        return list(islice(self._updates, len(self._updates) - missed, None))

    def clear(self) -> None:
        """Drop all updates."""
        self._updates.clear()
        self._count(-self._bytes)

    def _count(self, size: int) -> None:
        self._bytes += size
        self._backlog.keep(size)


def _size(update: AnyUpdate) -> int:
    return _COPIES * update.size + _UPDATE_BYTES
