"""Where receivers record notifications: in memory, in a SQLite file, or in a server's storage."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

from a2a_adapters import Limits
from a2a_adapters.storage import open_storage

if TYPE_CHECKING:
    from a2a_adapters.storage import AgentStorage, Storage

_SQLITE = "sqlite:///"
_NAME = "a2a_adapters_webhooks"
_KIND = "notifications"
_CLOSE_SECONDS = 5.0
_BUSY_SECONDS = 30.0
_KEPT_SECONDS = 30 * 24 * 3600
"""Time for which a SQLite file keeps a record after it was added."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS notifications (id TEXT PRIMARY KEY, begun REAL, record BLOB NOT NULL)
"""


class Table(Protocol):
    """Records by key."""

    async def read(self, key: str) -> bytes | None:
        """Return the record with a key."""

    async def swap(self, key: str, expected: bytes | None, record: bytes) -> bool:
        """Replace a record if it is still the expected one; return whether it was."""

    async def aclose(self) -> None:
        """Disconnect in the running event loop."""


def open_table(url: str) -> Table:
    """Return the table at a URL: `memory:`, `sqlite:///file.db`, or a storage of servers.

    Raises:
        ConfigurationError: No plugin knows the URL.
    """
    if url.startswith(_SQLITE):
        return SqliteTable(url.removeprefix(_SQLITE))
    return StorageTable(url)


class SqliteTable:
    """A table in a SQLite file that several processes may use.

    The file is not a server's storage, which belongs to one process.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    async def read(self, key: str) -> bytes | None:
        """Return the record with a key."""
        return await asyncio.to_thread(self._read, key)

    async def swap(self, key: str, expected: bytes | None, record: bytes) -> bool:
        """Replace a record if it is still the expected one; return whether it was."""
        return await asyncio.to_thread(self._swap, key, expected, record)

    async def aclose(self) -> None:
        """Do nothing: connections are open for one operation only."""

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS)
        connection.execute(_SCHEMA)
        return connection

    def _read(self, key: str) -> bytes | None:
        with closing(self._connect()) as connection:
            query = "SELECT record FROM notifications WHERE id = ?"
            found: tuple[bytes] | None = connection.execute(query, [key]).fetchone()
        return found[0] if found else None

    def _swap(self, key: str, expected: bytes | None, record: bytes) -> bool:
        with closing(self._connect()) as connection, connection:
            if expected is not None:
                change = "UPDATE notifications SET record = ? WHERE id = ? AND record = ?"
                return connection.execute(change, [record, key, expected]).rowcount == 1
            now = time.time()
            old = "DELETE FROM notifications WHERE begun < ?"
            connection.execute(old, [now - _KEPT_SECONDS])
            new = "INSERT OR IGNORE INTO notifications VALUES (?, ?, ?)"
            return connection.execute(new, [key, now, record]).rowcount == 1


class StorageTable:
    """A table in a server's storage. Each event loop opens one for itself, except in memory."""

    def __init__(self, url: str) -> None:
        self._url = url
        storage = self._new()
        self._memory = None if storage.is_durable else storage
        self._open: dict[asyncio.AbstractEventLoop, asyncio.Future[Storage]] = {}

    async def read(self, key: str) -> bytes | None:
        """Return the record with a key."""
        return await (await self._storage()).read_state("", key, _KIND)

    async def swap(self, key: str, expected: bytes | None, record: bytes) -> bool:
        """Replace a record if it is still the expected one; return whether it was."""
        return await (await self._storage()).swap_state("", key, _KIND, expected, record)

    async def aclose(self) -> None:
        """Disconnect in the running event loop."""
        if opening := self._open.pop(asyncio.get_running_loop(), None):
            await (await opening).aclose(_CLOSE_SECONDS)

    def _new(self) -> Storage:
        return open_storage(self._url, Limits())

    async def _storage(self) -> AgentStorage:
        if self._memory is not None:
            return self._memory.of(_NAME)
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            self._open[loop] = asyncio.ensure_future(self._start())
        try:
            return (await asyncio.shield(self._open[loop])).of(_NAME)
        except Exception:
            self._open.pop(loop, None)
            raise

    async def _start(self) -> Storage:
        storage = self._new()
        await storage.start()
        return storage
