"""The HTTP of `serve`: uvicorn's, with bounds for headers, for connections and for waiting."""

from __future__ import annotations

from contextvars import copy_context
from typing import TYPE_CHECKING, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from a2a_adapters.net.headers import FIELD_BYTES
from a2a_adapters.serving.connections import Connections

if TYPE_CHECKING:
    import asyncio
    from contextvars import Context

    from a2a_adapters.contract.limits import Limits

_CLOSE = b"content-length: 0\r\nconnection: close\r\n\r\n"
_REFUSAL = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + _CLOSE
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n" + _CLOSE

_READ_BYTES = 16 * 1024
"""What a connection may hold of a body that nobody has taken, before it reads no further."""


def http_protocol(limits: Limits, *, behind_proxy: bool = False) -> type[HttpToolsProtocol]:
    """Return the protocol of a server's connections.

    Args:
        limits: How many there may be, how large the headers of their requests, and how long these
            may take to come in.
        behind_proxy: Whether all connections are a proxy's, so that their addresses say nothing.
    """
    connections = Connections(limits, shares=not behind_proxy)
    bounds = {"head_bytes": limits.header_bytes, "open": connections}
    return type("BoundedHttp", (_BoundedHttp,), bounds)


class _BoundedHttp(HttpToolsProtocol):
    """Ends connections whose headers, or trailers, grow too large while they come in."""

    head_bytes: ClassVar[int]
    open: ClassVar[Connections]
    is_whole = False
    """Whether all that has come are whole requests."""
    is_spare = False
    """Whether it may only be used for probes, for all others are busy."""
    waited = 0
    _is_refused = False
    _counted = 0
    """What the address and the headers have, counted as in `net.headers`."""
    _unfinished = 0
    """What came since anything was whole: a header without an end, for instance."""
    _context: Context
    """What is true of every request of the connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection."""
        self._context = copy_context()
        super().connection_made(transport)
        if not self.open.admit(self):
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        self.open.leave(self)
        super().connection_lost(exc)

    @property
    def host(self) -> str:
        """The client's address, "" if there is none."""
        return self.client[0] if self.client else ""

    @property
    def is_idle(self) -> bool:
        """Whether the client has to send something before there is anything to do."""
        cycle: RequestResponseCycle | None = self.cycle
        is_answered = cycle is None or cycle.response_complete or cycle.more_body
        return is_answered and not self.pipeline

    def on_message_complete(self) -> None:
        """Note that a request is whole."""
        self.is_whole = True
        self.waited = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Begin the next request, if it has come already: with nothing of the one before."""
        self._context.copy().run(super().on_response_complete)

    def data_received(self, data: bytes) -> None:
        """Take what has come over the line."""
        self._unfinished += len(data)
        self.is_whole = False
        super().data_received(data)
        if self._unfinished > self.head_bytes + len(data) and not self.transport.is_closing():
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._counted = self._unfinished = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a piece of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header or a trailer."""
        self._count(len(name) + len(value) + FIELD_BYTES)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer a request."""
        if self.is_spare and not self.open.may_ask(self, self.url.partition(b"?")[0]):
            self._is_refused = True
            raise _RefusedError  # the parser stops, and uvicorn sends what is below
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body; the next one comes when this one has been taken."""
        self._unfinished = 0
        super().on_body(body)
        # What comes after the answer is taken by nobody, and kept by nobody.
        if len(body) > _READ_BYTES and not self.cycle.response_complete:
            self.flow.pause_reading()

    def _count(self, size: int) -> None:
        self._unfinished = 0
        self._counted += size
        if self._counted > self.head_bytes:
            raise _RefusedError  # the parser stops, and uvicorn sends what is below

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, too large, or one too many, and close the connection."""
        if not self._is_refused and max(self._counted, self._unfinished) <= self.head_bytes:
            super().send_400_response(msg)
            return
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            self.transport.write(_FULL if self._is_refused else _REFUSAL)
        self.transport.close()


class _RefusedError(Exception):
    """Ends the parsing of a request."""
