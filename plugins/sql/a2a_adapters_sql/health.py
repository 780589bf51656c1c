"""Health of the storage, logged on changes instead of per request."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from a2a_adapters.storage.interface import PATIENCE_SECONDS
from a2a_adapters_sql.alarm import Alarm

if TYPE_CHECKING:
    from collections.abc import Callable

_FAILURES = 3
"""Number of successive failures that count as an outage."""

logger = logging.getLogger(__name__)


class Health:
    """Tracks whether the storage is available and notifies listeners of outages.

    Args:
        name: Name of the storage in logs, without secrets.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._failures = 0
        self._alarm: Alarm | None = None
        self._listeners: list[Callable[[], None]] = []
        self.is_ready = False

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` when the storage has been unavailable for `PATIENCE_SECONDS`."""
        self._listeners.append(listener)

    def succeeded(self) -> None:
        """Record a success."""
        self._failures = 0
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if not self.is_ready:
            self.is_ready = True
            logger.info("storage %s is available", self._name)

    def failed(self, error: BaseException) -> None:
        """Record a failure; a single one is not an outage."""
        self._failures += 1
        if self._failures >= _FAILURES:
            self.suspect(_brief(error))

    def suspect(self, reason: str) -> None:
        """Record that the storage is unavailable or too slow."""
        if self.is_ready:
            self.is_ready = False
            logger.error("storage %s is unavailable: %s", self._name, reason)
        if self._alarm is None:
            self._alarm = Alarm(PATIENCE_SECONDS, self._raise_alarm)

    def _raise_alarm(self) -> None:
        self._alarm = None
        for listener in self._listeners:
            listener()

    def close(self) -> None:
        """Stop notifying listeners."""
        self._listeners.clear()
        if self._alarm is not None:
            self._alarm.cancel()


def _brief(error: BaseException) -> str:
    """Return the driver's error, which contains no parameters, in one line."""
    cause = getattr(error, "orig", None) or error
    return " ".join(f"{type(cause).__name__}: {cause}".split())[:300]
