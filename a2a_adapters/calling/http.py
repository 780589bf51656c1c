"""HTTP clients for remote agents, which limit answers, retry requests and restrict hosts."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from weakref import finalize, ref

import httpx

from a2a_adapters.calling.auth import Trust, TrustedHostAuth
from a2a_adapters.calling.errors import (
    RemoteAgentError,
    RemoteAnswerError,
    RemoteConnectionError,
)
from a2a_adapters.calling.failures import BUSY, LONGEST_DELAY, back_off
from a2a_adapters.calling.json_http import EVENT_STREAM, LINE_STREAMS
from a2a_adapters.concurrency import blocking, in_background
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.net.proxies import Proxies, shown_proxy
from a2a_adapters.net.transport import PooledTransport

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping

    from a2a_adapters.calling.options import RemoteOptions

MAX_BYTES = "a2a_adapters.max_bytes"
"""Request extension: maximum size of the response, in place of `RemoteOptions.answer_bytes`."""

_IDLE_SECONDS = 3.0
"""Time to keep an idle connection. uvicorn closes it after 5 s, which might race with a request."""


def make_client(
    origin: httpx.URL | None, options: RemoteOptions, auth: httpx.Auth | None
) -> httpx.AsyncClient:
    """Create a client for the agent at `origin`; None trusts every host that a card names."""
    limits = httpx.Limits(
        max_connections=None, max_keepalive_connections=20, keepalive_expiry=_IDLE_SECONDS
    )
    trust = Trust(origin, options.trusted_hosts)
    return httpx.AsyncClient(
        transport=_AgentTransport(PooledTransport(options.tls, limits), trust, options, limits),
        auth=TrustedHostAuth(auth, trust, options),
        timeout=httpx.Timeout(options.idle_timeout, connect=options.connect_timeout),
        # The size of a compressed answer says nothing about its real size.
        headers={"Accept-Encoding": "identity"},
    )


async def get(client: httpx.AsyncClient, url: httpx.URL | str, max_bytes: int) -> httpx.Response:
    """Send a GET request and return the response, of at most `max_bytes`.

    Raises:
        RemoteConnectionError: The server cannot be reached.
        RemoteAnswerError: The response is too large.
    """
    request = client.build_request("GET", url, extensions={MAX_BYTES: max_bytes})
    try:
        return await client.send(request)
    except httpx.RemoteProtocolError as error:
        raise RemoteConnectionError(
            f"{url} does not answer in HTTP/1.1 ({error}); "
            "for an agent over gRPC, give the address of its card"
        ) from error
    except httpx.HTTPError as error:
        raise RemoteConnectionError(f"{url} cannot be reached: {error}") from error


class _AgentTransport(httpx.AsyncBaseTransport):
    """Retries requests that the agent cannot have processed, and limits its answers.

    `direct` connects to trusted hosts; the outbound policy applies to all others. Behind a proxy it
    applies to the hosts that the proxy is asked for.
    """

    def __init__(
        self,
        direct: httpx.AsyncBaseTransport,
        trust: Trust,
        options: RemoteOptions,
        limits: httpx.Limits,
    ) -> None:
        self._direct = direct
        self._guarded = options.outbound.transport(ssl_context=options.tls)
        self._trust = trust
        self._options = options
        self._limits = limits
        self._proxies = Proxies(options.proxy)
        self._proxied: dict[str, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._retried(request)
        encoding = response.headers.get("content-encoding", "identity")
        if encoding != "identity":
            await response.aclose()
            raise RemoteAnswerError(f"the agent sends {encoding!r} though it was not asked to")
        max_bytes = request.extensions.get(MAX_BYTES, self._options.answer_bytes)
        media_type = response.headers.get("content-type", "")
        values = ValueBudget(
            self._options.answer_values,
            is_stream=media_type.startswith((EVENT_STREAM, *LINE_STREAMS)),
            is_by_line=media_type.startswith(LINE_STREAMS),
        )
        assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - for the type
        response.stream = _BoundedStream(response.stream, max_bytes, values)
        return response

    async def _retried(self, request: httpx.Request) -> httpx.Response:
        if not blocking.can_answer(request.url.host, request.url.port):
            raise RemoteAgentError(
                f"{request.url} is served by the event loop that this synchronous call blocks: use "
                "the asynchronous variant of the call, or serve with serve_in_background(...)"
            )
        transport = await self._transport(request.url)
        for attempt in range(self._options.retries):
            try:
                response = await transport.handle_async_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                delay = back_off(attempt)
            else:
                if response.status_code not in BUSY:
                    return response
                delay = _wanted_delay(response) or back_off(attempt)
                if delay > LONGEST_DELAY:
                    return response
                await response.aclose()
            await asyncio.sleep(delay * random.uniform(1, 1.1))  # noqa: S311 - a spread
        return await transport.handle_async_request(request)

    async def _transport(self, url: httpx.URL) -> httpx.AsyncBaseTransport:
        """Return the transport for a URL.

        Raises:
            ForbiddenUrlError: The policy forbids the URL that the proxy would be asked for.
        """
        is_known = self._trust.knows(url)
        if not (proxy := self._proxies.of(url)):
            return self._direct if is_known else self._guarded
        if not is_known:
            await self._options.outbound.check_proxied(url)
        if (transport := self._proxied.get(proxy)) is None:
            transport = self._proxied[proxy] = self._through(proxy)
        return transport

    def _through(self, proxy: str) -> httpx.AsyncHTTPTransport:
        try:
            return httpx.AsyncHTTPTransport(
                verify=self._options.tls or True,
                limits=self._limits,
                proxy=proxy,
                trust_env=False,
            )
        except (ValueError, ImportError, httpx.InvalidURL) as error:
            raise ConfigurationError(
                f"the proxy {shown_proxy(proxy)} cannot be used: {error}"
            ) from error

    async def aclose(self) -> None:
        for transport in (self._direct, self._guarded, *self._proxied.values()):
            await transport.aclose()


def _wanted_delay(response: httpx.Response) -> float:
    """Return the seconds of `Retry-After` (RFC 9110, section 10.2.3); 0 if missing or past."""
    value: str = response.headers.get("retry-after", "")
    if value.isdecimal():
        return float(value)
    try:
        return max(0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):  # not a date, or one without a zone
        return 0


class _BoundedStream(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, max_bytes: int, values: ValueBudget) -> None:
        self._inner = inner
        self._max_bytes = max_bytes
        self._values = values

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._max_bytes
        async for chunk in self._inner:
            left -= len(chunk)
            if left < 0:
                raise RemoteAnswerError(f"the agent's answer is over {self._max_bytes:,} bytes")
            self._values.take(chunk)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class ValueBudget:
    """Counts JSON values incrementally, as `security.body` does for a complete text.

    Args:
        limit: Maximum number of values in an answer, or in each event of a stream.
        is_stream: Whether the text is a stream of server-sent events, or of lines.
        is_by_line: Whether each line is an event.
    """

    def __init__(self, limit: int, *, is_stream: bool, is_by_line: bool = False) -> None:
        self._limit = limit
        self._is_stream = is_stream
        self._is_by_line = is_by_line
        self._count = 0
        self._is_in_string = False
        self._escape = b""
        self._has_line = False
        self._is_after_return = False  # a \n then belongs to the preceding \r

    def take(self, piece: bytes) -> None:
        """Count the values in the next piece.

        Raises:
            RemoteAnswerError: The limit is exceeded.
        """
        if not self._is_stream:
            self._add(piece)
            return
        text = piece.removeprefix(b"\n") if self._is_after_return else piece
        self._is_after_return = piece.endswith(b"\r")
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._take_lines(text)

    def _take_lines(self, text: bytes) -> None:
        """Count by line: strings end with their line, and events with an empty line."""
        is_between = not (self._has_line or self._count)
        if is_between and text.endswith(b"\n\n") and len(text) <= self._limit:
            return  # complete events with fewer bytes than the limit of values
        first, *others = text.split(b"\n")
        self._take_line(first)
        for line in others:
            if self._is_by_line or not self._has_line:
                self._count = 0
            self._is_in_string, self._escape, self._has_line = False, b"", False
            self._take_line(line)

    def _take_line(self, line: bytes) -> None:
        if line:
            self._has_line = True
            self._add(line)

    def _add(self, text: bytes) -> None:
        text = (self._escape + text).replace(b"\\\\", b"")
        self._escape = b"\\" if text.endswith(b"\\") else b""
        pieces = text.replace(b'\\"', b"").split(b'"')
        for outside in pieces[self._is_in_string :: 2]:
            self._count += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
        self._is_in_string ^= len(pieces) % 2 == 0
        if self._count > self._limit:
            raise RemoteAnswerError(f"the agent's answer holds over {self._limit:,} values")


_UNUSED_SECONDS = 1.0
"""Delay before an unused client is closed, so that this does not start in an ending event loop."""

_POLL_SECONDS = 0.1
"""Interval at which to check whether another event loop has ended; loops do not report it."""

_kept: dict[httpx.AsyncClient, AsyncGenerator[None]] = {}
"""Open clients and their holders, protected from garbage collection until they are closed."""


class HttpClients:
    """Opens an HTTP client per event loop and closes it with that loop.

    An HTTP connection belongs to the event loop it was opened in, and scripts run several loops in
    succession (`asyncio.run`). Each client is held by an async generator, because an event loop
    closes these before it ends.

    Args:
        url: The address of the agent; None trusts every host that a card names.
        auth: The credentials; only the host of `url` gets them.
        options: Limits and preferences.
        on_close: Called with the event loop whose client was closed. It must not refer to this
            object.
    """

    def __init__(
        self,
        url: httpx.URL | None,
        auth: httpx.Auth | None,
        options: RemoteOptions,
        on_close: Callable[[asyncio.AbstractEventLoop], object] | None = None,
    ) -> None:
        self._url = url
        self._auth = auth
        self._options = options
        self._on_close = on_close
        self._open: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}
        self._holders: dict[asyncio.AbstractEventLoop, AsyncGenerator[None]] = {}
        self._closing: dict[asyncio.AbstractEventLoop, AsyncExitStack] = {}
        finalize(self, _close_all, self._holders)

    async def get(self) -> httpx.AsyncClient:
        """Return the client of the running event loop, opening it if necessary."""
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            http = self._open[loop] = make_client(self._url, self._options, self._auth)
            closing = self._closing[loop] = AsyncExitStack()
            holder = self._holders[loop] = _kept[http] = _hold(http, closing, ref(self))
            await anext(holder)
        return self._open[loop]

    def closing(self) -> AsyncExitStack:
        """Return the exit stack that is closed with the running event loop's client."""
        return self._closing[asyncio.get_running_loop()]

    def forget(self, loop: asyncio.AbstractEventLoop) -> None:
        """Remove the closed client of an event loop."""
        self._open.pop(loop, None)
        self._holders.pop(loop, None)
        self._closing.pop(loop, None)
        if self._on_close is not None:
            self._on_close(loop)

    async def aclose(self) -> None:
        """Close the clients of all event loops."""
        here = asyncio.get_running_loop()
        for loop, holder in list(self._holders.items()):
            if loop is here:
                await holder.aclose()
            elif loop.is_running():
                await _close_in(loop, holder)


async def _close_in(loop: asyncio.AbstractEventLoop, holder: AsyncGenerator[object]) -> None:
    """Close a client in its event loop, or wait for the end of that loop, which closes it."""
    with suppress(RuntimeError):  # the loop is closed, or is closing the client
        closed = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(holder.aclose(), loop))
        while not closed.done() and not loop.is_closed():
            await asyncio.wait([closed], timeout=_POLL_SECONDS)
        if closed.done() and not closed.cancelled():
            closed.result()


async def _hold(
    http: httpx.AsyncClient, closing: AsyncExitStack, owner: ref[HttpClients]
) -> AsyncGenerator[None]:
    """Keep a client open until this generator is closed, at the latest by the event loop."""
    try:
        async with http, closing:
            yield
    finally:
        del _kept[http]
        if (clients := owner()) is not None:
            clients.forget(asyncio.get_running_loop())


def _close_all(holders: Mapping[asyncio.AbstractEventLoop, AsyncGenerator[object]]) -> None:
    """Close the clients of a garbage-collected `HttpClients`."""
    for loop, holder in list(holders.items()):
        if not loop.is_closed():
            loop.call_soon_threadsafe(loop.call_later, _UNUSED_SECONDS, _close_soon, holder)


def _close_soon(holder: AsyncGenerator[object]) -> None:
    in_background(holder.aclose())
