"""The open connections of a server: how many there may be, and which are closed for others."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from typing import TYPE_CHECKING, Protocol

from a2a_adapters.net.addresses import share_of

if TYPE_CHECKING:
    from a2a_adapters.contract.limits import Limits

_LOOKS = 4
"""How often a connection is looked at in the time that it may keep the server waiting."""

_SPARE = 16
"""How many more connections there may be for probes while all others are busy."""

_PROBES = "probes"
"""Whose share the spare connections are of."""

_PROBE_PATHS = frozenset({b"/livez", b"/healthz"})

_LOG_SECONDS = 60.0
"""How long the log says nothing more of a limit that was reached."""

logger = logging.getLogger(__name__)


class Connection(Protocol):
    """A connection, as those who bound their number know it."""

    transport: asyncio.Transport
    is_spare: bool
    """Whether it may only be used for probes, for all others are busy."""
    waited: int
    """At how many looks in turn the server was waiting for the rest of a request."""

    @property
    def host(self) -> str:
        """The client's address, "" if there is none."""

    @property
    def is_whole(self) -> bool:
        """Whether all that has come are whole requests."""

    @property
    def is_idle(self) -> bool:
        """Whether the client has to send something before there is anything to do."""


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
        self._open: dict[Connection, str] = {}
        """Every connection in the order of their beginnings, with whose share it is of."""
        self._counts: Counter[str] = Counter()
        self._looking: asyncio.TimerHandle | None = None
        self._silent_until: dict[bool, float] = {}

    def admit(self, connection: Connection) -> bool:
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

    def may_ask(self, connection: Connection, path: bytes) -> bool:
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

    def leave(self, connection: Connection) -> None:
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


def _most_open() -> float:
    """Return how many connections leave some of the files free that this process may open."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return math.inf
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return math.inf if files == resource.RLIM_INFINITY else files * 7 // 8
