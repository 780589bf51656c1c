"""One reader of a live task."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from a2a_adapters.protocol.errors import ReaderBehindError
from a2a_adapters.runtime.updates import Update

if TYPE_CHECKING:
    from a2a.utils.errors import A2AError

    from a2a_adapters.contract.limits import Limits
    from a2a_adapters.runtime.backlog import Backlog
    from a2a_adapters.runtime.updates import AnyUpdate


_SMALL_BYTES = 64 * 1024
"""What every reader may have yet to read."""


class Subscriber:
    """A bounded queue of updates.

    The writer waits for a reader that is too far behind, but not for long. One that takes
    nothing meanwhile is cut off: it gets what it has, and then an error, for what it got is not
    the whole. It can subscribe again. When all readers together are too far behind, it loses
    what it has.

    Args:
        limits: How much may wait before the writer does, and how long it waits.
        backlog: What all readers have yet to read.
        wants_progress: Whether the reader activated the progress extension.
        history_length: How many messages a task is shown with at most; None shows all.
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
        """Whether it takes nothing more."""
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
        """Wait until the reader takes what it has; cut it off if it does not."""
        if not self.is_behind:
            return
        if self._taken is None or self._taken.done():
            self._taken = asyncio.get_running_loop().create_future()
        await asyncio.wait({self._taken}, timeout=self._limits.subscriber_seconds)
        if self.is_behind:
            self._is_closed = self._is_cut_off = True

    def close(self) -> None:
        """Let the reader finish with what is already queued."""
        self._is_closed = True
        _resolve(self._wakeup)
        _resolve(self._taken)

    async def take(self) -> list[AnyUpdate]:
        """Wait for updates and return all there are; an empty list is the end.

        What was taken before counts as read.

        Raises:
            ReaderBehindError: There were more, which this reader was too slow for.
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
        """Let go of everything: there is no reader any more."""
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
