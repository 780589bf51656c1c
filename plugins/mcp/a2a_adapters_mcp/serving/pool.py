"""Which connection a call goes through."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from a2a_adapters.concurrency import in_background

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from a2a_adapters_mcp.serving.connection import Connection

Key: TypeAlias = tuple[str, str]
"""A conversation: its owner, and its contextId."""


class Connections(ABC):
    """What gives calls their connections.

    Args:
        connect: Opens a connection.
        first: One that is open already.
    """

    def __init__(self, connect: Callable[[], Awaitable[Connection]], first: Connection) -> None:
        self._connect = connect
        self._first: Connection | None = first

    @abstractmethod
    def lease(self, key: Key) -> AbstractAsyncContextManager[Connection]:
        """Give the connection for a call of a conversation."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close all."""

    async def _new(self) -> Connection:
        first, self._first = self._first, None
        return first if first is not None and first.is_open else await self._connect()


class Shared(Connections):
    """One connection for all, opened again when its server has ended."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], first: Connection) -> None:
        super().__init__(connect, first)
        self._connection = first
        self._opening = asyncio.Lock()

    @asynccontextmanager
    async def lease(self, key: Key) -> AsyncGenerator[Connection]:  # noqa: ARG002
        """Give the one connection."""
        async with self._opening:
            if not self._connection.is_open:
                gone, self._connection = self._connection, await self._connect()
                in_background(gone.close())
        yield self._connection

    async def aclose(self) -> None:
        """Close the connection."""
        await self._connection.close()


class PerConversation(Connections):
    """A connection for each conversation, kept for its next message; each has one call at a time.

    Args:
        connect: Opens a connection.
        first: One that is open already, and unused.
        limit: How many there may be.
        idle_seconds: How long one may be unused.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        first: Connection,
        limit: int,
        idle_seconds: float,
    ) -> None:
        super().__init__(connect, first)
        self._slots = asyncio.Semaphore(limit)
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._idle: dict[Key, tuple[Connection, asyncio.TimerHandle]] = {}
        self._used: set[Connection] = set()
        self._opening = 0

    @asynccontextmanager
    async def lease(self, key: Key) -> AsyncGenerator[Connection]:
        """Give the conversation's connection, or a new one; after a failure it is closed."""
        async with self._slots:
            connection = self._take(key)
            if connection is None:
                connection = await self._open()
            self._used.add(connection)
            try:
                yield connection
            except BaseException:
                in_background(connection.close())
                raise
            finally:
                self._used.discard(connection)
            self._keep(key, connection)

    async def aclose(self) -> None:
        """Close all."""
        idle = [self._idle.pop(key) for key in list(self._idle)]
        for _, expiry in idle:
            expiry.cancel()
        first = [self._first] if self._first else []
        every = [*first, *self._used, *(connection for connection, _ in idle)]
        await asyncio.gather(*(connection.close() for connection in every))

    def _take(self, key: Key) -> Connection | None:
        found = self._idle.pop(key, None)
        if found is None:
            return None
        connection, expiry = found
        expiry.cancel()
        if connection.is_open:
            return connection
        in_background(connection.close())
        return None

    async def _open(self) -> Connection:
        self._opening += 1
        try:
            await self._make_room()
            return await self._new()
        finally:
            self._opening -= 1

    async def _make_room(self) -> None:
        """Close what is unused the longest, if there would be too many."""
        while self._idle and len(self._idle) + len(self._used) + self._opening > self._limit:
            await self._drop(next(iter(self._idle)))

    def _keep(self, key: Key, connection: Connection) -> None:
        if key in self._idle or not connection.is_open:
            in_background(connection.close())
            return
        loop = asyncio.get_running_loop()
        expiry = loop.call_later(self._idle_seconds, lambda: in_background(self._drop(key)))
        self._idle[key] = connection, expiry

    async def _drop(self, key: Key) -> None:
        found = self._idle.pop(key, None)
        if found is not None:
            found[1].cancel()
            await found[0].close()
