"""Connections that are kept for a while after their requests."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, TypeAlias

import httpcore

if TYPE_CHECKING:
    import ssl

    import httpx

_Server: TypeAlias = tuple[bytes, bytes, int | None]
"""The scheme, host and port of a URL."""

_SCHEMES = (b"http", b"https")


class ConnectionPool:
    """Connections of HTTP/1.1, one request at a time each.

    httpcore's pool checks every connection around each request, and each idle one for every other:
    with 64 of them this takes longer than the request. Here a request costs the same however many
    there are.

    Args:
        ssl_context: Which servers are trusted.
        limits: How many requests may be under way, and how many idle connections are kept how long.
        network: Makes the connections.
    """

    def __init__(
        self,
        ssl_context: ssl.SSLContext,
        limits: httpx.Limits,
        network: httpcore.AsyncNetworkBackend,
    ) -> None:
        self._ssl_context = ssl_context
        self._keepalive_seconds = limits.keepalive_expiry
        self._network = network
        self._free = asyncio.Semaphore(limits.max_connections or sys.maxsize)
        most = limits.max_keepalive_connections
        self._most_idle = sys.maxsize if most is None else most
        self._idle: dict[httpcore.AsyncHTTPConnection, _Server] = {}
        """Those that wait for a request, and where they lead. The oldest come first."""
        self._busy: dict[httpcore.AsyncHTTPConnection, _Server] = {}

    async def send(
        self, request: httpcore.Request
    ) -> tuple[httpcore.Response, httpcore.AsyncHTTPConnection]:
        """Return the answer to a request and its connection, which has to be released.

        Raises:
            httpcore.UnsupportedProtocol: The URL is not one of HTTP.
            httpcore.TimeoutException: Sending it, or waiting for its turn, took too long.
            httpcore.NetworkError: The server cannot be reached.
            httpcore.ProtocolError: The server does not answer as it should.
        """
        url = request.url
        if url.scheme not in _SCHEMES:
            scheme = url.scheme.decode()
            raise httpcore.UnsupportedProtocol(
                f"a URL with http or https is needed, not {scheme!r}"
            )
        await self._wait(request.extensions.get("timeout", {}).get("pool"))
        server = url.scheme, url.host, url.port
        stale = self._expired()
        connection = self._kept(server, stale) or self._new(url.origin)
        self._busy[connection] = server
        try:
            for old in stale:
                await old.aclose()
            return await connection.handle_async_request(request), connection
        except BaseException:
            await self.release(connection)
            raise

    async def release(self, connection: httpcore.AsyncHTTPConnection) -> None:
        """Keep a connection whose answer was read to its end; close any other."""
        server = self._busy.pop(connection)
        self._free.release()
        if connection.is_closed():
            return
        if connection.is_idle():
            self._idle[connection] = server
            if len(self._idle) <= self._most_idle:
                return
            connection = next(iter(self._idle))
            del self._idle[connection]
        await connection.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        idle = list(self._idle)
        self._idle.clear()
        for connection in (*idle, *self._busy):
            await connection.aclose()

    async def _wait(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._free.acquire()
        except TimeoutError as error:
            raise httpcore.PoolTimeout("too many requests are under way") from error

    def _expired(self) -> list[httpcore.AsyncHTTPConnection]:
        """Return the oldest that nobody has used for too long; they are kept no more."""
        expired = []
        while self._idle and (oldest := next(iter(self._idle))).has_expired():
            del self._idle[oldest]
            expired.append(oldest)
        return expired

    def _kept(
        self, server: _Server, stale: list[httpcore.AsyncHTTPConnection]
    ) -> httpcore.AsyncHTTPConnection | None:
        """Return the connection to a server that was used last, which the server has not closed."""
        kept = [connection for connection, its in self._idle.items() if its == server]
        for connection in reversed(kept):
            del self._idle[connection]
            if not connection.has_expired():
                return connection
            stale.append(connection)
        return None

    def _new(self, origin: httpcore.Origin) -> httpcore.AsyncHTTPConnection:
        return httpcore.AsyncHTTPConnection(
            origin=origin,
            ssl_context=self._ssl_context,
            keepalive_expiry=self._keepalive_seconds,
            network_backend=self._network,
        )
