"""Records notifications, and waits for them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING

from a2a_adapters_webhooks.notification import Record

if TYPE_CHECKING:
    from a2a_adapters_webhooks.tables import Table

_POLL_SECONDS = 1.0
"""Interval at which to look for notifications that another process has received."""


class Ledger:
    """The notifications of tasks, by task id, and those who wait for them.

    Args:
        table: Stores the records.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._lock = Lock()
        self._watches: set[Watch] = set()

    async def read(self, task_id: str) -> bytes | None:
        """Return the stored record of a task."""
        return await self._table.read(task_id)

    async def write(self, task_id: str, expected: bytes | None, record: Record) -> bool:
        """Replace the record of a task, and wake those who wait here; False if it has changed."""
        if not await self._table.swap(task_id, expected, record.to_json()):
            return False
        with self._lock:
            watches = [watch for watch in self._watches if watch.task_id == task_id]
        for watch in watches:
            watch.wake()
        return True

    def add(self, watch: Watch) -> None:
        """Wake a watch when its task's record is written in this process."""
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
    """Waits for the notifications of one task, in one event loop.

    Args:
        ledger: The ledger.
        task_id: The task.
        longest: Maximum time to wait for a notification in seconds.
    """

    def __init__(self, ledger: Ledger, task_id: str, longest: float) -> None:
        self.task_id = task_id
        self._ledger = ledger
        self._longest = longest
        self._number = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()

    async def __call__(self) -> None:
        """Wait for a notification that came after the last call, or until the time is up."""
        self._loop = asyncio.get_running_loop()
        self._ledger.add(self)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._longest):
                    await self._changed()
        finally:
            self._ledger.remove(self)

    async def _changed(self) -> None:
        while True:
            self._news.clear()
            number = Record.parse(await self._ledger.read(self.task_id)).number
            if number != self._number:
                self._number = number
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_SECONDS):
                    await self._news.wait()

    def wake(self) -> None:
        """Look for a notification now; callable from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)
