"""Whether the storage can be used: said once when that changes, not at every request."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from a2a_adapters.storage.interface import PATIENCE_SECONDS
from a2a_adapters_sql.alarm import Alarm

if TYPE_CHECKING:
    from collections.abc import Callable

_FAILURES = 3
"""How many one after the other are an outage."""

logger = logging.getLogger(__name__)


class Health:
    """Knows whether the storage is ready, and tells those who want to know.

    Args:
        name: What the log calls the storage; nothing secret.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._failures = 0
        self._alarm: Alarm | None = None
        self._listeners: list[Callable[[], None]] = []
        self.is_ready = False

    def listen(self, listener: Callable[[], None]) -> None:
        """Have `listener` called when the storage has been away for `PATIENCE_SECONDS`."""
        self._listeners.append(listener)

    def succeeded(self) -> None:
        """Note that the storage works."""
        self._failures = 0
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if not self.is_ready:
            self.is_ready = True
            logger.info("storage %s is ready", self._name)

    def failed(self, error: BaseException) -> None:
        """Note that it failed; once is no outage."""
        self._failures += 1
        if self._failures >= _FAILURES:
            self.suspect(_brief(error))

    def suspect(self, reason: str) -> None:
        """Note that it does not, or not well enough."""
        if self.is_ready:
            self.is_ready = False
            logger.error("storage %s is away: %s", self._name, reason)
        if self._alarm is None:
            self._alarm = Alarm(PATIENCE_SECONDS, self._raise_alarm)

    def _raise_alarm(self) -> None:
        self._alarm = None
        for listener in self._listeners:
            listener()

    def close(self) -> None:
        """Tell nobody any more."""
        self._listeners.clear()
        if self._alarm is not None:
            self._alarm.cancel()


def _brief(error: BaseException) -> str:
    """Return the driver's own words, which hold no parameters, in one line."""
    cause = getattr(error, "orig", None) or error
    return " ".join(f"{type(cause).__name__}: {cause}".split())[:300]
