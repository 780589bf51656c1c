"""What the readers of an agent's streams have yet to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_adapters.runtime.updates import AnyUpdate

_COPIES = 2
"""An update is there as an event, and once it is on its way as JSON."""


class Backlog:
    """Counts the bytes of updates that any subscriber holds; shared ones count once.

    Args:
        limit: How many there may be.
    """

    __slots__ = ("_held", "_limit")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = 0

    @property
    def is_full(self) -> bool:
        """Whether there are more than there may be."""
        return self._held > self._limit

    def hold(self, update: AnyUpdate) -> None:
        """Count an update for one more subscriber."""
        if not update.readers:
            self._held += _COPIES * update.size
        update.readers += 1

    def release(self, updates: list[AnyUpdate]) -> None:
        """Count updates for one subscriber less."""
        for update in updates:
            update.readers -= 1
            if not update.readers:
                self._held -= _COPIES * update.size
