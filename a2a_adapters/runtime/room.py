"""How much may be held for all callers, and for one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


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
