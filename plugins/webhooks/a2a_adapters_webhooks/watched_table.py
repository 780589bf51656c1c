"""Records notifications and the tasks of their tokens, and waits for both."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_adapters_webhooks.tables import Table

_POLL_SECONDS = 1.0
"""Interval at which to look for the records of other processes."""


class WatchedTable:
    """Records by key, with the watches that wait for their changes.

    Args:
        table: Stores the records.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._lock = Lock()
        self._watches: set[Watch] = set()

    async def read(self, key: str) -> bytes | None:
        """Return a stored record."""
        return await self._table.read(key)

    async def write(self, key: str, expected: bytes | None, record: bytes) -> bool:
        """Replace a record, and wake its watches here; return False if it has changed."""
        if not await self._table.swap(key, expected, record):
            return False
        with self._lock:
            watches = [watch for watch in self._watches if watch.key == key]
        for watch in watches:
            watch.wake()
        return True

    def add(self, watch: Watch) -> None:
        """Wake a watch when its record is written in this process."""
        with self._lock:
            self._watches.add(watch)

    def remove(self, watch: Watch) -> None:
        """Stop that."""
        with self._lock:
            self._watches.discard(watch)

    async def aclose(self) -> None:
        """Disconnect in the running event loop."""
        await self._table.aclose()


class Watch:
    """Waits for changes of one record, in one event loop.

    Args:
        table: The table.
        key: The key of the record.
        longest: Maximum time to wait for a change in seconds.

    Attributes:
        record: The record that was last seen.
    """

    def __init__(self, table: WatchedTable, key: str, longest: float) -> None:
        self.key = key
        self._table = table
        self._longest = longest
        self.record: bytes | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()

    async def __call__(self) -> None:
        """Wait for a record other than the last one, or until the time is up."""
        self._loop = asyncio.get_running_loop()
        self._table.add(self)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._longest):
                    await self._changed()
        finally:
            self._table.remove(self)

    async def _changed(self) -> None:
        while True:
            self._news.clear()
            record = await self._table.read(self.key)
            if record != self.record:
                self.record = record
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_SECONDS):
                    await self._news.wait()

    def wake(self) -> None:
        """Look for a change now; callable from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)
