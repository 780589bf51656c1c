"""How deployments did lately, as this process has seen it."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

_REMEMBERED = 600.0
"""For how many seconds a measurement counts; a deployment without one is tried first."""


@dataclass(slots=True)
class _Measured:
    seconds: float
    at: float


@dataclass(slots=True)
class Pace:
    """Running calls, and how long deployments take to their first word.

    Attributes:
        running: The calls that are running, by deployment.
    """

    running: Counter[str] = field(default_factory=Counter)
    _warm: set[str] = field(default_factory=set)
    _measured: dict[str, _Measured] = field(default_factory=dict)

    def seconds(self, name: str) -> float:
        """Return the recent seconds to the first word; 0 if none were measured."""
        found = self._measured.get(name)
        is_recent = found is not None and time.monotonic() - found.at < _REMEMBERED
        return found.seconds if found is not None and is_recent else 0.0

    def note(self, name: str, seconds: float) -> None:
        """Note the seconds to a first word, but those of the first call: it imports libraries."""
        if name in self._warm:
            self._add(name, seconds)
        self._warm.add(name)

    def fail(self, name: str, seconds: float) -> None:
        """Note that a call failed, which counts as this many seconds."""
        self._add(name, seconds)

    def _add(self, name: str, seconds: float) -> None:
        before = self.seconds(name) or seconds
        self._measured[name] = _Measured(0.7 * before + 0.3 * seconds, time.monotonic())
