"""Pools of connections for calls."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from a2a_adapters.concurrency import Background, shielded
from a2a_adapters_mcp.serving.connection import ServerGoneError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from a2a_adapters_mcp.serving.connection import Connection

Key: TypeAlias = tuple[str, str]
"""A conversation: its owner and contextId."""


class Connections(ABC):
    """Provides connections for calls and closes them.

    Args:
        make: Creates an unopened connection.
    """

    def __init__(self, make: Callable[[], Connection]) -> None:
        self._make = make
        self._every: set[Connection] = set()
        self._closing = Background()
        self._is_closed = False

    @abstractmethod
    async def first(self) -> Connection:
        """Open a connection for the first call and the server's description.

        Raises:
            ServerGoneError: The server cannot be reached.
        """

    @abstractmethod
    def lease(self, key: Key) -> AbstractAsyncContextManager[Connection]:
        """Lease the connection for a call of a conversation."""

    async def aclose(self) -> None:
        """Close all connections and refuse new ones."""
        self._is_closed = True
        await asyncio.gather(*(self._close(connection) for connection in self._every))

    async def _open(self) -> Connection:
        if self._is_closed:
            raise ServerGoneError("the MCP server is being shut down")
        connection = self._make()
        self._every.add(connection)
        try:
            await connection.open()
        except BaseException:
            self._discard(connection)
            raise
        return connection

    def _discard(self, connection: Connection) -> None:
        """Close an unused connection in the background; `aclose` waits for it."""
        self._closing.begin(self._close(connection))

    async def _close(self, connection: Connection) -> None:
        await connection.close()
        self._every.discard(connection)


class Shared(Connections):
    """One shared connection, reopened if its server has ended."""

    def __init__(self, make: Callable[[], Connection]) -> None:
        super().__init__(make)
        self._opening = asyncio.Lock()

    async def first(self) -> Connection:
        """Open the shared connection."""
        self._connection = await self._open()
        return self._connection

    @asynccontextmanager
    async def lease(self, key: Key) -> AsyncGenerator[Connection]:  # noqa: ARG002
        """Lease the shared connection."""
        async with self._opening:
            if not self._connection.is_open:
                gone, self._connection = self._connection, await self._open()
                self._discard(gone)
        yield self._connection


class PerConversation(Connections):
    """One connection per conversation, kept for its next message, with one call at a time.

    Args:
        make: Creates an unopened connection.
        limit: Maximum number of connections.
        idle_seconds: Maximum idle time of a connection.
    """

    def __init__(self, make: Callable[[], Connection], limit: int, idle_seconds: float) -> None:
        super().__init__(make)
        self._first: Connection | None = None
        self._slots = asyncio.Semaphore(limit)
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._idle: dict[Key, tuple[Connection, asyncio.TimerHandle]] = {}
        self._used: set[Connection] = set()
        self._opening = 0

    async def first(self) -> Connection:
        """Open a connection for the first conversation."""
        self._first = await self._open()
        return self._first

    @asynccontextmanager
    async def lease(self, key: Key) -> AsyncGenerator[Connection]:
        """Lease the conversation's connection, or a new one; close it after a failure."""
        async with self._slots:
            connection = self._take(key)
            if connection is None:
                connection = await self._new()
            self._used.add(connection)
            try:
                yield connection
            except BaseException:
                self._discard(connection)
                raise
            finally:
                self._used.discard(connection)
            self._keep(key, connection)

    async def aclose(self) -> None:
        """Close all connections."""
        for _, expiry in self._idle.values():
            expiry.cancel()
        self._idle.clear()
        await super().aclose()

    def _take(self, key: Key) -> Connection | None:
        return self._if_open(self._unused(key)) if key in self._idle else None

    async def _new(self) -> Connection:
        self._opening += 1
        try:
            await self._make_room()
            first, self._first = self._first, None
            return self._if_open(first) or await self._open()
        finally:
            self._opening -= 1

    def _if_open(self, connection: Connection | None) -> Connection | None:
        """Return a connection if its server is available; close it otherwise."""
        if connection is None or connection.is_open:
            return connection
        self._discard(connection)
        return None

    async def _make_room(self) -> None:
        """Close the connection that was idle longest, if the limit is reached."""
        while self._idle and len(self._idle) + len(self._used) + self._opening > self._limit:
            oldest = next(iter(self._idle))
            await shielded(self._close(self._unused(oldest)))

    def _keep(self, key: Key, connection: Connection) -> None:
        if key in self._idle or not connection.is_open:
            self._discard(connection)
            return
        loop = asyncio.get_running_loop()
        expiry = loop.call_later(self._idle_seconds, lambda: self._discard(self._unused(key)))
        self._idle[key] = connection, expiry

    def _unused(self, key: Key) -> Connection:
        connection, expiry = self._idle.pop(key)
        expiry.cancel()
        return connection
