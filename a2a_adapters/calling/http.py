"""The HTTP client for a remote agent: it limits answers, retries, and trusts few hosts."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING

import httpx

from a2a_adapters.calling.auth import Trust, TrustedHostAuth
from a2a_adapters.calling.errors import RemoteAnswerError
from a2a_adapters.calling.failures import BUSY, LONGEST_DELAY, back_off
from a2a_adapters.net.transport import PooledTransport

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator

    from a2a_adapters.calling.options import RemoteOptions

MAX_BYTES = "a2a_adapters.max_bytes"
"""Request extension: how large the response may be, in place of `RemoteOptions.answer_bytes`."""

_IDLE_SECONDS = 3.0
"""How long an idle connection is kept; uvicorn closes it after 5, perhaps as a request is sent."""


def make_client(
    origin: httpx.URL | None, options: RemoteOptions, auth: httpx.Auth | None
) -> httpx.AsyncClient:
    """Return a client for the agent at `origin`; None trusts every host that a card names."""
    limits = httpx.Limits(
        max_connections=None, max_keepalive_connections=20, keepalive_expiry=_IDLE_SECONDS
    )
    tls = options.tls or _ssl_context()
    trust = Trust(origin, options.trusted_hosts)
    return httpx.AsyncClient(
        transport=_AgentTransport(PooledTransport(tls, limits), trust, tls, options),
        auth=TrustedHostAuth(auth, trust),
        timeout=httpx.Timeout(options.idle_timeout, connect=options.connect_timeout),
        # What is compressed cannot be bounded by what comes over the line.
        headers={"Accept-Encoding": "identity"},
    )


@cache
def _ssl_context() -> ssl.SSLContext:
    """Return what httpx would make for every client: reading the certificates takes 50 ms."""
    return httpx.create_ssl_context()


class _AgentTransport(httpx.AsyncBaseTransport):
    """Sends requests to one agent: retries those it cannot have worked on, and limits answers.

    Args:
        direct: Connects to the agent's own host, and to trusted ones.
        trust: Which hosts those are; the outbound policy decides about others.
        tls: How servers are verified.
        options: Limits and choices.
    """

    def __init__(
        self,
        direct: httpx.AsyncBaseTransport,
        trust: Trust,
        tls: ssl.SSLContext,
        options: RemoteOptions,
    ) -> None:
        self._direct = direct
        self._guarded = options.outbound.transport(ssl_context=tls)
        self._trust = trust
        self._options = options

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._retried(request)
        encoding = response.headers.get("content-encoding", "identity")
        if encoding != "identity":
            await response.aclose()
            raise RemoteAnswerError(f"the agent sends {encoding!r} though it was not asked to")
        max_bytes = request.extensions.get(MAX_BYTES, self._options.answer_bytes)
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        values = ValueBudget(self._options.answer_values, is_stream=is_stream)
        assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - for the type
        response.stream = _BoundedStream(response.stream, max_bytes, values)
        return response

    async def _retried(self, request: httpx.Request) -> httpx.Response:
        transport = self._direct if self._trust.knows(request.url) else self._guarded
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
            await asyncio.sleep(delay)
        return await transport.handle_async_request(request)

    async def aclose(self) -> None:
        await self._direct.aclose()
        await self._guarded.aclose()


def _wanted_delay(response: httpx.Response) -> float:
    """Return the seconds of `Retry-After`; 0 without, or if it is a date."""
    value: str = response.headers.get("retry-after", "")
    return float(value) if value.isdecimal() else 0


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
    """Counts the values of JSON that comes in pieces, as `protocol.values` does of a whole.

    Args:
        limit: How many values an answer may hold, or each event of a stream.
        is_stream: Whether the pieces are of a stream of server-sent events.
    """

    def __init__(self, limit: int, *, is_stream: bool) -> None:
        self._limit = limit
        self._is_stream = is_stream
        self._count = 0
        self._is_in_string = False
        self._escape = b""
        self._has_line = False
        self._is_after_return = False  # then a \n belongs to the line end before it

    def take(self, piece: bytes) -> None:
        """Count the next piece.

        Raises:
            RemoteAnswerError: There are too many values now.
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
        """Take a piece of a stream: strings end with their lines, and events by empty ones."""
        is_between = not (self._has_line or self._count)
        if is_between and text.endswith(b"\n\n") and len(text) <= self._limit:
            return  # whole events of fewer bytes than they may hold values
        first, *others = text.split(b"\n")
        self._take_line(first)
        for line in others:
            if not self._has_line:
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
