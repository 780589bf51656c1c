"""HTTP over a pool of persistent connections."""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, TypeAlias

import httpcore
import httpx

from a2a_adapters.net.backend import AsyncioNetwork, system_addresses

if TYPE_CHECKING:
    from a2a_adapters.net.dns import Resolver

_Server: TypeAlias = tuple[bytes, bytes, int | None]
"""The scheme, host and port of a URL."""

_SAME_IN_HTTPX = tuple(
    (getattr(httpcore, name), getattr(httpx, name))
    for name in (  # the more special ones first
        "ConnectTimeout",
        "ReadTimeout",
        "WriteTimeout",
        "PoolTimeout",
        "ConnectError",
        "ReadError",
        "WriteError",
        "ProxyError",
        "LocalProtocolError",
        "RemoteProtocolError",
        "UnsupportedProtocol",
        "TimeoutException",
        "NetworkError",
        "ProtocolError",
    )
)


class ConnectionPool:
    """A pool of HTTP/1.1 connections, each with one request at a time.

    httpcore's pool checks all connections for each request, in quadratic time: with 64 connections
    that takes longer than the request. Here the cost of a request does not depend on their number.

    Args:
        ssl_context: Verifies servers; by default with httpx's CA certificates, which are read for
            the first https connection of the process.
        limits: Limits on concurrent requests and idle connections.
        network: Opens connections.
    """

    def __init__(
        self,
        ssl_context: ssl.SSLContext | None,
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
        """Idle connections with their servers, oldest first."""
        self._busy: dict[httpcore.AsyncHTTPConnection, _Server] = {}

    async def send(
        self, request: httpcore.Request
    ) -> tuple[httpcore.Response, httpcore.AsyncHTTPConnection]:
        """Return the response to a request and its connection, which must be released.

        Raises:
            httpcore.UnsupportedProtocol: The URL is not an HTTP URL.
            httpcore.TimeoutException: Sending, or waiting for a connection, took too long.
            httpcore.NetworkError: The server cannot be reached.
            httpcore.ProtocolError: The server violates HTTP.
        """
        url = request.url
        if url.scheme not in (b"http", b"https"):
            scheme = url.scheme.decode()
            raise httpcore.UnsupportedProtocol(
                f"a URL with http or https is needed, not {scheme!r}"
            )
        tls = None if url.scheme == b"http" else self._ssl_context or _default_tls()
        await self._wait(request.extensions.get("timeout", {}).get("pool"))
        server = url.scheme, url.host, url.port
        stale = self._expired()
        connection = self._kept(server, stale) or self._new(url.origin, tls)
        self._busy[connection] = server
        try:
            for old in stale:
                await old.aclose()
            return await connection.handle_async_request(request), connection
        except BaseException:
            await self.release(connection)
            raise

    async def release(self, connection: httpcore.AsyncHTTPConnection) -> None:
        """Keep a connection whose response was read completely; close any other."""
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
        """Remove and return the oldest idle connections that have expired."""
        expired = []
        while self._idle and (oldest := next(iter(self._idle))).has_expired():
            del self._idle[oldest]
            expired.append(oldest)
        return expired

    def _kept(
        self, server: _Server, stale: list[httpcore.AsyncHTTPConnection]
    ) -> httpcore.AsyncHTTPConnection | None:
        """Return the most recently used idle connection to a server that is still open."""
        kept = [connection for connection, its in self._idle.items() if its == server]
        for connection in reversed(kept):
            del self._idle[connection]
            if not connection.has_expired():
                return connection
            stale.append(connection)
        return None

    def _new(
        self, origin: httpcore.Origin, tls: ssl.SSLContext | None
    ) -> httpcore.AsyncHTTPConnection:
        return httpcore.AsyncHTTPConnection(
            origin=origin,
            ssl_context=tls,
            keepalive_expiry=self._keepalive_seconds,
            network_backend=self._network,
        )


@cache  # reading the certificates takes 50 ms
def _default_tls() -> ssl.SSLContext:
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        raise httpcore.ConnectError(
            f"the CA certificates cannot be read, see SSL_CERT_FILE and SSL_CERT_DIR: {error}"
        ) from error


class PooledTransport(httpx.AsyncBaseTransport):
    """HTTP over a pool of connections, like `httpx.AsyncHTTPTransport`, but with our backend.

    Connections are pooled by host name, so that certificates are checked against it and two hosts
    at the same address share no connection.

    Args:
        ssl_context: Verifies servers; by default as httpx does.
        limits: The limits of the pool.
        addresses: Resolves hosts.
        check: Raises an error for URLs that must not be requested.
    """

    def __init__(
        self,
        ssl_context: ssl.SSLContext | None,
        limits: httpx.Limits,
        addresses: Resolver = system_addresses,
        check: Callable[[httpx.URL], None] | None = None,
    ) -> None:
        self._check = check
        self._pool = ConnectionPool(ssl_context, limits, AsyncioNetwork(addresses))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request.

        Raises:
            httpx.TransportError: The server cannot be reached, or violates HTTP.
        """
        url = request.url
        if self._check is not None:
            self._check(url)
        with _errors_of_httpx():
            response, connection = await self._pool.send(
                httpcore.Request(
                    method=request.method,
                    url=httpcore.URL(
                        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                    ),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        assert isinstance(response.stream, AsyncIterable)  # noqa: S101 - the connection is async
        release = partial(self._pool.release, connection)
        return httpx.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_Body(response.stream, release),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(
        self, stream: AsyncIterable[bytes], release: Callable[[], Awaitable[None]]
    ) -> None:
        self._stream = stream
        self._release = release
        self._is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors_of_httpx():
            try:
                async for chunk in self._stream:
                    yield chunk
            except BaseException:
                await self.aclose()
                raise

    async def aclose(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if (aclose := getattr(self._stream, "aclose", None)) is not None:
                await aclose()
        finally:
            await self._release()


@contextmanager
def _errors_of_httpx() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        for theirs, ours in _SAME_IN_HTTPX:
            if isinstance(error, theirs):
                raise ours(str(error)) from error
        raise
