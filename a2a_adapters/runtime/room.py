"""How much memory tasks and messages take, and how much may be held for a caller and for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.types import Message, Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from a2a.types import Artifact


_SHARE = 100
"""Processes tell each other of owners who take so much of the room: one part in a hundred."""


class Room:
    """Counts bytes or runs, in all and by owner. One named owner may have half of them.

    Args:
        limit: How many there may be.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._most_of_one = limit - limit // 2
        self.taken = 0
        self._by_owner: dict[str, int] = {}
        self.others: Mapping[str, int] = {}
        """What owners take at other processes: it counts for them, not in all."""

    def shares(self) -> Mapping[str, int]:
        """Return what those named owners take who take much."""
        least = self.limit // _SHARE
        return {owner: size for owner, size in self._by_owner.items() if owner and size > least}

    def has(self, owner: str, size: int = 0) -> bool:
        """Tell whether there is room for so much more.

        Without authentication everybody is one owner, who has no name and no limit.
        """
        if self.taken + size > self.limit:
            return False
        return not owner or self._of(owner) + size <= self._most_of_one

    def _of(self, owner: str) -> int:
        return self._by_owner.get(owner, 0) + self.others.get(owner, 0)

    def take_if_there(self, owner: str, size: int) -> bool:
        """Count more if there is room for it; tell whether there is."""
        if not self.has(owner, size):
            return False
        self.take(owner, size)
        return True

    def is_full_for(self, owner: str) -> bool:
        """Tell whether an owner has more than one may have."""
        return bool(owner) and self._of(owner) > self._most_of_one

    def take(self, owner: str, size: int) -> bool:
        """Count more, less if it is negative; tell whether that is too much."""
        self.taken += size
        own = self._by_owner[owner] = self._by_owner.get(owner, 0) + size
        if not own:
            del self._by_owner[owner]
        return self.taken > self.limit or (bool(owner) and own > self._most_of_one)


_FLAT_BYTES = 1024
"""What every one takes, and what is so small is not looked into."""

_VALUE_FACTOR = 24
"""A value of JSON takes so many times what it has on the wire, four bytes for instance."""


def weight(kept: Task | Message) -> int:
    """Return about how many bytes of memory a task or message takes."""
    size = kept.ByteSize()
    if size <= _FLAT_BYTES:
        return size + _FLAT_BYTES
    values = _values(kept)
    return size + _FLAT_BYTES + _VALUE_FACTOR * values


def _values(kept: Task | Message) -> int:
    """Return how much of it are values of JSON."""
    if isinstance(kept, Message):
        return _values_of([kept])
    own = kept.metadata.ByteSize()
    return own + _values_of([*kept.history, kept.status.message, *kept.artifacts])


def _values_of(carriers: Iterable[Message | Artifact]) -> int:
    return sum(
        carrier.metadata.ByteSize()
        + sum(part.data.ByteSize() + part.metadata.ByteSize() for part in carrier.parts)
        for carrier in carriers
    )
