"""The HTTP of `serve`: uvicorn's, which keeps as many headers as anybody cares to send."""

from __future__ import annotations

from contextvars import copy_context
from typing import TYPE_CHECKING, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from a2a_adapters.net.headers import FIELD_BYTES

if TYPE_CHECKING:
    import asyncio
    from contextvars import Context

_REFUSAL = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)

_READ_BYTES = 16 * 1024
"""What a connection may hold of a body that nobody has taken, before it reads no further."""


def http_protocol(head_bytes: int) -> type[HttpToolsProtocol]:
    """Return the protocol of connections whose requests have headers of so many bytes at most."""
    return type("BoundedHttp", (_BoundedHttp,), {"head_bytes": head_bytes})


class _BoundedHttp(HttpToolsProtocol):
    """Ends connections whose headers, or trailers, grow too large while they come in."""

    head_bytes: ClassVar[int]
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

    def on_response_complete(self) -> None:
        """Begin the next request, if it has come already: with nothing of the one before."""
        self._context.copy().run(super().on_response_complete)

    def data_received(self, data: bytes) -> None:
        """Take what has come over the line."""
        self._unfinished += len(data)
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
            raise _HeadTooLargeError  # the parser stops, and uvicorn sends what is below

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, or too large, and close the connection."""
        if max(self._counted, self._unfinished) <= self.head_bytes:
            super().send_400_response(msg)
            return
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            self.transport.write(_REFUSAL)
        self.transport.close()


class _HeadTooLargeError(Exception):
    """Ends the parsing of a request."""
