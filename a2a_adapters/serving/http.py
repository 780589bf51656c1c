"""uvicorn's HTTP protocol with limits on headers, connections and idle time, for `serve`."""

from __future__ import annotations

import asyncio
import logging
import math
import sys
import time
from collections import Counter
from contextvars import copy_context
from typing import TYPE_CHECKING, ClassVar

from httptools import HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from a2a_adapters.net.addresses import share_of
from a2a_adapters.protocol.headers import FIELD_BYTES
from a2a_adapters.serving.health import HEALTH_PATHS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextvars import Context

    from a2a_adapters.contract.limits import Limits

_CLOSE = b"content-length: 0\r\nconnection: close\r\n\r\n"
_REFUSAL = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + _CLOSE
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n" + _CLOSE

_CHECKS = 4
"""Number of checks of a connection within the time allowed for a request."""

_SPARE = 16
"""Number of extra connections for probes while all others are busy."""

_PROBES = "probes"
"""The share that extra connections count towards."""

_LOG_SECONDS = 60.0
"""Minimum time between two log lines about the same limit."""

_READ_BYTES = 16 * 1024
"""Maximum unread part of a body before the connection stops reading."""


logger = logging.getLogger(__name__)


def http_protocol(
    limits: Limits, *, behind_proxy: bool = False, probes: Iterable[str] = HEALTH_PATHS
) -> type[HttpToolsProtocol]:
    """Return the protocol class for a server's connections.

    Args:
        limits: The limits on connections, headers and receiving times.
        behind_proxy: Whether all connections come from a proxy, so that addresses do not matter.
        probes: The paths of health checks.
    """
    connections = Connections(limits, shares=not behind_proxy, probes=probes)
    bounds = {"head_bytes": limits.header_bytes, "open": connections}
    return type("BoundedHttp", (BoundedHttp,), bounds)


class Connections:
    """Limits the connections of a server in total and, if `shares` is set, per address."""

    def __init__(
        self, limits: Limits, *, shares: bool, probes: Iterable[str] = HEALTH_PATHS
    ) -> None:
        self._probes = frozenset(path.encode() for path in probes)
        self._most = min(limits.connections, _most_open())
        self._most_of_one = limits.connections_per_address
        self._seconds = limits.body_seconds
        self._shares = shares
        self._open: dict[BoundedHttp, str] = {}
        """The connections, oldest first, with the shares that they count towards."""
        self._counts: Counter[str] = Counter()
        self._next_check: asyncio.TimerHandle | None = None
        self._silent_until: dict[bool, float] = {}

    def admit(self, connection: BoundedHttp) -> bool:
        """Count a new connection, closing another if necessary; return whether it may stay."""
        of = share_of(connection.host) if self._shares else ""
        connection.is_spare = not self._make_room(of)
        if connection.is_spare:
            of = _PROBES
            if self._counts[of] >= _SPARE and not self._close_idle(of):
                return False
        self._open[connection] = of
        self._counts[of] += 1
        if self._next_check is None:
            self._check_later()
        return True

    def may_ask(self, connection: BoundedHttp, path: bytes) -> bool:
        """Return whether a spare connection may be used for a request.

        It may for a probe, or if there is now room for it among the regular connections.
        """
        if path in self._probes:
            return True
        self.leave(connection)
        return self.admit(connection) and not connection.is_spare

    def _make_room(self, of: str) -> bool:
        """Return whether there is room for a connection, closing another if necessary."""
        count = len(self._open) - self._counts[_PROBES]
        if of and self._counts[of] >= self._most_of_one:
            self._log_full(self._counts[of], f"of {of} ", is_total=False)
            return self._close_idle(of)
        if count >= self._most:
            self._log_full(count, "", is_total=True)
            return self._close_idle(None)
        return True

    def leave(self, connection: BoundedHttp) -> None:
        """Stop counting a connection."""
        of = self._open.pop(connection, None)
        if of is None:
            return
        self._counts[of] -= 1
        if not self._counts[of]:
            del self._counts[of]

    def _close_idle(self, of: str | None) -> bool:
        """Close the longest idle connection of a share, or of all regular ones if it is None.

        Those with a partial request go first, because proxies keep idle ones for later.
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

    def _check_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._next_check = loop.call_later(self._seconds / _CHECKS, self._check)

    def _check(self) -> None:
        """Close connections that have taken too long to send a request.

        It counts checks instead of seconds, because data that arrived while the event loop was
        blocked is read before the next check.
        """
        self._next_check = None
        for connection in list(self._open):
            if connection.is_idle and not connection.is_whole:
                connection.waited += 1
                if connection.waited > _CHECKS:
                    connection.transport.abort()
        if self._open:
            self._check_later()

    def _log_full(self, count: int, of: str, *, is_total: bool) -> None:
        now = time.monotonic()
        if now >= self._silent_until.get(is_total, -math.inf):
            self._silent_until[is_total] = now + _LOG_SECONDS
            logger.warning(
                "%d connections %sare open, the maximum: closing idle ones for new ones", count, of
            )


class BoundedHttp(HttpToolsProtocol):
    """A connection with limits on the size of headers and trailers.

    Attributes:
        is_whole: Whether only complete requests have been received.
        is_spare: Whether it may only be used for probes, because all others are busy.
        waited: Number of consecutive checks at which the rest of a request was missing.
    """

    head_bytes: ClassVar[int]
    open: ClassVar[Connections]
    is_whole = False
    is_spare = False
    waited = 0
    _is_refused = False
    _counted = 0
    """Size of the request target and headers, counted as in `protocol.headers`."""
    _received = b""
    """The data that is being parsed."""
    _again = b""
    """The part of it to parse again."""
    _unfinished = 0
    """Size of the data since the last complete element, such as a header without an end."""
    _context: Context
    """The context variables of every request of the connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start a connection."""
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
        """The client's address, or ""."""
        return self.client[0] if self.client else ""

    @property
    def is_idle(self) -> bool:
        """Whether the server waits for the client."""
        cycle: RequestResponseCycle | None = self.cycle
        is_answered = cycle is None or cycle.response_complete or cycle.more_body
        return is_answered and not self.pipeline

    def on_message_complete(self) -> None:
        """Note that a request is complete."""
        self.is_whole = True
        self.waited = 0
        if not self._offers_another_protocol:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Start the next pipelined request without the previous one's context variables."""
        self._context.copy().run(super().on_response_complete)

    def data_received(self, data: bytes) -> None:
        """Process received data."""
        self._received = data
        while self._received:
            self._unfinished += len(self._received)
            self.is_whole = False
            self._again = b""
            super().data_received(self._received)
            self._received = self._again
        if self._unfinished > self.head_bytes + len(data) and not self.transport.is_closing():
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """Start a request."""
        self._counted = self._unfinished = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Process a piece of the request target."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Process a header or trailer."""
        self._count(len(name) + len(value) + FIELD_BYTES)
        super().on_header(name, value)

    @property
    def _offers_another_protocol(self) -> bool:
        return self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"

    def _unsupported_upgrade_warning(self) -> None:
        """Read a request again without its offer of another protocol, which may be ignored.

        The parser takes its body for the other protocol, and then for the next request. See RFC
        9110, section 7.8.
        """
        upgrade = sys.exception()
        assert isinstance(upgrade, HttpParserUpgrade)  # noqa: S101 - uvicorn handles it
        if not self._offers_another_protocol:
            self.send_400_response("Invalid HTTP request received.")
            return
        head = [self.parser.get_method(), b" ", self.url, b" HTTP/1.1\r\n"]
        for name, value in self.headers:
            if name != b"upgrade":
                head += [name, b": ", value, b"\r\n"]
        self._again = b"".join([*head, b"\r\n", self._received[upgrade.args[0] :]])
        self.parser = HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does

    def on_headers_complete(self) -> None:
        """Start to answer a request."""
        if self._offers_another_protocol:
            return
        if self.is_spare and not self.open.may_ask(self, self.url.partition(b"?")[0]):
            self._is_refused = True
            raise _RefusedError
        super().on_headers_complete()
        if self.expect_100_continue:
            # A refused client may leave its body out; its next request would be read as the body.
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Process a piece of the body; the next one is read when this one has been consumed."""
        self._unfinished = 0
        super().on_body(body)
        # After the answer, the rest of the body is dropped.
        if len(body) > _READ_BYTES and not self.cycle.response_complete:
            self.flow.pause_reading()

    def _count(self, size: int) -> None:
        self._unfinished = 0
        self._counted += size
        if self._counted > self.head_bytes:
            raise _RefusedError

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that is invalid, too large, or one too many; close the connection."""
        if not self._is_refused and max(self._counted, self._unfinished) <= self.head_bytes:
            super().send_400_response(msg)
            return
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            self.transport.write(_FULL if self._is_refused else _REFUSAL)
        self.transport.close()


class _RefusedError(Exception):
    """Stops the parser; uvicorn then calls `send_400_response`."""


def _most_open() -> float:
    """Return the number of connections that leaves some of the process's files free."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return math.inf
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return math.inf if files == resource.RLIM_INFINITY else files * 7 // 8
