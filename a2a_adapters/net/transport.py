"""HTTP over pools of connections, also of some that go only where an outbound policy allows."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Protocol

import httpcore
import httpx

from a2a_adapters.net.network import AsyncioNetwork, Resolver, system_addresses
from a2a_adapters.net.pool import ConnectionPool

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


class Policy(Protocol):
    """What decides where connections go: an `OutboundPolicy`."""

    def check_form(self, url: httpx.URL) -> None:
        """Raise `ForbiddenUrlError` for a URL that is refused as it stands."""

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host; raise `ForbiddenUrlError` if one is refused."""


class PooledTransport(httpx.AsyncBaseTransport):
    """HTTP over a pool of connections.

    It is what `httpx.AsyncHTTPTransport` is, which cannot be given a network backend. The pool
    knows connections by the host's name, so that certificates are checked against it and no
    connection is shared by two hosts at one address.
    """

    def __init__(
        self,
        ssl_context: ssl.SSLContext | None,
        limits: httpx.Limits,
        addresses: Resolver = system_addresses,
    ) -> None:
        context = ssl_context or httpx.create_ssl_context()
        self._pool = ConnectionPool(context, limits, AsyncioNetwork(addresses))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request.

        Raises:
            httpx.TransportError: The server cannot be reached or does not answer as it should.
        """
        url = request.url
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


class GuardedTransport(PooledTransport):
    """HTTP over a pool of connections to where the policy allows."""

    def __init__(
        self, policy: Policy, ssl_context: ssl.SSLContext | None, limits: httpx.Limits
    ) -> None:
        super().__init__(ssl_context, limits, policy.addresses)
        self._policy = policy

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request.

        Raises:
            ForbiddenUrlError: The policy refuses the URL.
            httpx.TransportError: The server cannot be reached or does not answer as it should.
        """
        self._policy.check_form(request.url)
        return await super().handle_async_request(request)


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
