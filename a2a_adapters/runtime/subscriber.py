"""One reader of a live task."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_adapters.runtime.updates import AnyUpdate


class Subscriber:
    """A bounded queue of updates that never makes the writer wait.

    A reader that falls more than `limit` updates behind is closed: it gets what it has
    and can subscribe again.

    Args:
        limit: How many updates may wait.
        wants_progress: Whether the reader activated the progress extension.
    """

    __slots__ = ("_is_closed", "_limit", "_updates", "_wakeup", "_wants_progress", "has_begun")

    def __init__(self, limit: int, *, wants_progress: bool) -> None:
        self._limit = limit
        self._wants_progress = wants_progress
        self._updates: list[AnyUpdate] = []
        self._wakeup: asyncio.Future[None] | None = None
        self._is_closed = False
        self.has_begun = False

    def push(self, update: AnyUpdate) -> None:
        """Add an update."""
        if self._is_closed or (update.is_progress and not self._wants_progress):
            return
        self._updates.append(update)
        if len(self._updates) > self._limit:
            self._is_closed = True
        self._wake()

    def close(self) -> None:
        """Let the reader finish with what is already queued."""
        self._is_closed = True
        self._wake()

    async def take(self) -> list[AnyUpdate]:
        """Wait for updates and return all there are; an empty list is the end."""
        if not self._updates and not self._is_closed:
            self._wakeup = asyncio.get_running_loop().create_future()
            await self._wakeup
        updates, self._updates = self._updates, []
        return updates

    def _wake(self) -> None:
        if self._wakeup is not None and not self._wakeup.done():
            self._wakeup.set_result(None)
