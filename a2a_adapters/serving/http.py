"""The HTTP of `serve`: uvicorn's, with bounds for headers, for connections and for waiting."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from contextvars import copy_context
from typing import TYPE_CHECKING, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from a2a_adapters.net.addresses import share_of
from a2a_adapters.protocol.headers import FIELD_BYTES

if TYPE_CHECKING:
    from contextvars import Context

    from a2a_adapters.contract.limits import Limits

_CLOSE = b"content-length: 0\r\nconnection: close\r\n\r\n"
_REFUSAL = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + _CLOSE
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n" + _CLOSE

_LOOKS = 4
"""How often a connection is looked at in the time that it may keep the server waiting."""

_SPARE = 16
"""How many more connections there may be for probes while all others are busy."""

_PROBES = "probes"
"""Whose share the spare connections are of."""

_PROBE_PATHS = frozenset({b"/livez", b"/healthz"})

_LOG_SECONDS = 60.0
"""How long the log says nothing more of a limit that was reached."""

_READ_BYTES = 16 * 1024
"""What a connection may hold of a body that nobody has taken, before it reads no further."""


logger = logging.getLogger(__name__)


def http_protocol(limits: Limits, *, behind_proxy: bool = False) -> type[HttpToolsProtocol]:
    """Return the protocol of a server's connections.

    Args:
        limits: How many there may be, how large the headers of their requests, and how long these
            may take to come in.
        behind_proxy: Whether all connections are a proxy's, so that their addresses say nothing.
    """
    connections = Connections(limits, shares=not behind_proxy)
    bounds = {"head_bytes": limits.header_bytes, "open": connections}
    return type("BoundedHttp", (BoundedHttp,), bounds)


class Connections:
    """Bounds the connections of one server, and of each address among them.

    Args:
        limits: How many there may be, and how long they may keep the server waiting.
        shares: Whether addresses are told apart.
    """

    def __init__(self, limits: Limits, *, shares: bool) -> None:
        self._most = min(limits.connections, _most_open())
        self._most_of_one = limits.connections_per_address
        self._seconds = limits.body_seconds
        self._shares = shares
        self._open: dict[BoundedHttp, str] = {}
        """Every connection in the order of their beginnings, with whose share it is of."""
        self._counts: Counter[str] = Counter()
        self._looking: asyncio.TimerHandle | None = None
        self._silent_until: dict[bool, float] = {}

    def admit(self, connection: BoundedHttp) -> bool:
        """Count a new connection, close another for it if need be; return whether it may stay."""
        of = share_of(connection.host) if self._shares else ""
        connection.is_spare = not self._make_room(of)
        if connection.is_spare:
            of = _PROBES
            if self._counts[of] >= _SPARE and not self._close_idle(of):
                return False
        self._open[connection] = of
        self._counts[of] += 1
        if self._looking is None:
            self._look_later()
        return True

    def may_ask(self, connection: BoundedHttp, path: bytes) -> bool:
        """Return whether a spare connection may be used for a request: if it is a probe's.

        Any other request is answered if there is room for the connection among the others by now.
        """
        if path in _PROBE_PATHS:
            return True
        self.leave(connection)
        return self.admit(connection) and not connection.is_spare

    def _make_room(self, of: str) -> bool:
        """Return whether there is room for a connection of a share, if need be by closing one."""
        count = len(self._open) - self._counts[_PROBES]
        if of and self._counts[of] >= self._most_of_one:
            self._say_full(self._counts[of], f"of {of} ", is_total=False)
            return self._close_idle(of)
        if count >= self._most:
            self._say_full(count, "", is_total=True)
            return self._close_idle(None)
        return True

    def leave(self, connection: BoundedHttp) -> None:
        """Count a connection no longer, if it was counted."""
        of = self._open.pop(connection, None)
        if of is None:
            return
        self._counts[of] -= 1
        if not self._counts[of]:
            del self._counts[of]

    def _close_idle(self, of: str | None) -> bool:
        """Close the connection, of one share or of all but the spare, that has waited longest.

        Those that have sent a part of a request go first: proxies keep idle ones for later.
        """
        idle = [
            connection
            for connection, whose in self._open.items()
            if connection.is_idle and (whose == of if of is not None else whose != _PROBES)
        ]
        if not idle:
            return False
        longest = max(idle, key=lambda connection: (not connection.is_whole, connection.waited))
        self.leave(longest)
        longest.transport.abort()
        return True

    def _look_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._looking = loop.call_later(self._seconds / _LOOKS, self._look)

    def _look(self) -> None:
        """Close what has kept the server waiting for too long.

        Looks are counted, not seconds: what has come while the event loop stood still is read
        before the next look.
        """
        self._looking = None
        for connection in list(self._open):
            if connection.is_idle and not connection.is_whole:
                connection.waited += 1
                if connection.waited > _LOOKS:
                    connection.transport.abort()
        if self._open:
            self._look_later()

    def _say_full(self, count: int, of: str, *, is_total: bool) -> None:
        now = time.monotonic()
        if now >= self._silent_until.get(is_total, -math.inf):
            self._silent_until[is_total] = now + _LOG_SECONDS
            logger.warning(
                "%d connections %sare open, as many as may be: idle ones are closed for new ones",
                count,
                of,
            )


class BoundedHttp(HttpToolsProtocol):
    """Ends connections whose headers, or trailers, grow too large while they come in."""

    head_bytes: ClassVar[int]
    open: ClassVar[Connections]
    is_whole = False
    """Whether all that has come are whole requests."""
    is_spare = False
    """Whether it may only be used for probes, for all others are busy."""
    waited = 0
    """At how many looks in turn the server was waiting for the rest of a request."""
    _is_refused = False
    _counted = 0
    """What the address and the headers have, counted as in `protocol.headers`."""
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


def _most_open() -> float:
    """Return how many connections leave some of the files free that this process may open."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return math.inf
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return math.inf if files == resource.RLIM_INFINITY else files * 7 // 8
