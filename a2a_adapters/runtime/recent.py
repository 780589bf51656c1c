"""The latest updates of a task, kept for interrupted streams."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_adapters.runtime.subscriber import Backlog
    from a2a_adapters.runtime.updates import AnyUpdate

KEPT_BYTES = 1024 * 1024
"""Maximum size of the updates that a task keeps for interrupted streams."""

_COPIES = 2
"""An update is held as an event and, for the other readers, also as JSON."""

_UPDATE_BYTES = 512
"""The overhead of an update."""


class RecentUpdates:
    """The latest updates of a task without a gap, for readers whose stream was interrupted.

    They count in the backlog of all subscribers, and take up to half of it.
    """

    __slots__ = ("_backlog", "_bytes", "_updates")

    def __init__(self, backlog: Backlog) -> None:
        self._backlog = backlog
        self._bytes = 0
        self._updates: deque[AnyUpdate] = deque()

    def add(self, update: AnyUpdate) -> None:
        """Keep a published update."""
        if self._updates and update.generation != self._updates[-1].generation + 1:
            self.clear()
        self._updates.append(update)
        self._count(_size(update))
        while self._updates and (self._bytes > KEPT_BYTES or self._backlog.is_half_full):
            self._count(-_size(self._updates.popleft()))

    def since(self, generation: int, latest: int) -> list[AnyUpdate] | None:
        """Return the updates from one generation to the latest; None if some are not here."""
        missed = latest - generation
        if not missed:
            return []
        if not 0 < missed <= len(self._updates) or self._updates[-1].generation != latest:
            return None
        return list(islice(self._updates, len(self._updates) - missed, None))

    def clear(self) -> None:
        """Drop all updates."""
        self._updates.clear()
        self._count(-self._bytes)

    def _count(self, size: int) -> None:
        self._bytes += size
        self._backlog.keep(size)


def _size(update: AnyUpdate) -> int:
    return _COPIES * update.size + _UPDATE_BYTES
