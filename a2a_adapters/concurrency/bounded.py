"""A map that forgets what was not used for longest."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedMap(Generic[K, V]):
    """Keeps so many values, and each for so long; setting one makes it the newest.

    Not for several threads at once.

    Args:
        limit: How many values are kept.
        seconds: How long one is kept after it was set.
        weight: How much all values may weigh.
        weigh: Returns what one weighs when it is set.
    """

    __slots__ = ("_entries", "_limit", "_seconds", "_weigh", "_weight", "_weight_limit")

    def __init__(
        self,
        limit: int,
        seconds: float = math.inf,
        weight: float = math.inf,
        weigh: Callable[[V], int] | None = None,
    ) -> None:
        self._limit = limit
        self._seconds = seconds
        self._weight_limit = weight
        self._weigh = weigh
        self._weight = 0
        self._entries: OrderedDict[K, tuple[float, V, int]] = OrderedDict()

    def __setitem__(self, key: K, value: V) -> None:
        self._remove(key)
        weight = self._weigh(value) if self._weigh else 0
        self._entries[key] = (time.monotonic(), value, weight)
        self._weight += weight
        while len(self._entries) > self._limit or self._weight > self._weight_limit:
            self._remove(next(iter(self._entries)))
        self._forget_old()

    def get(self, key: K) -> V | None:
        """Return a value without making it newer; None if there is none."""
        self._forget_old()
        found = self._entries.get(key)
        return None if found is None else found[1]

    def pop(self, key: K) -> V | None:
        """Take a value out; None if there is none."""
        self._forget_old()
        return self._remove(key)

    def values(self) -> Iterator[V]:
        """Iterate over what is kept, the oldest first."""
        return (value for _, value, _ in self._entries.values())

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._weight = 0

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def _remove(self, key: K) -> V | None:
        found = self._entries.pop(key, None)
        if found is None:
            return None
        self._weight -= found[2]
        return found[1]

    def _forget_old(self) -> None:
        oldest_kept = time.monotonic() - self._seconds
        while self._entries and next(iter(self._entries.values()))[0] < oldest_kept:
            self._remove(next(iter(self._entries)))
