"""A mapping with limits on number, age and weight of its values."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedMap(Generic[K, V]):
    """A mapping that drops the values set least recently. It is not thread-safe.

    Args:
        limit: Maximum number of values.
        seconds: Maximum age of a value.
        weight: Maximum total weight.
        weigh: Returns the weight of a value when it is set.
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
        """Return a value or None, without making it newer."""
        self._forget_old()
        found = self._entries.get(key)
        return None if found is None else found[1]

    def pop(self, key: K) -> V | None:
        """Remove and return a value, or None."""
        self._forget_old()
        return self._remove(key)

    def values(self) -> Iterator[V]:
        """Iterate over the values, oldest first."""
        return (value for _, value, _ in self._entries.values())

    def clear(self) -> None:
        """Remove all values."""
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
