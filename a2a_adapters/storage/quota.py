"""Quotas of memory or requests: in total, and for each named owner half of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.types import Message, Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from a2a.types import Artifact


_SHARED_FRACTION = 100
"""Processes share the usage of owners who take more than this fraction of a quota."""


class Quota:
    """Counts bytes or runs up to a limit. A named owner may have half of them.

    Callers without authentication are one owner, without a name or a limit of its own.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._limit_per_owner = limit - limit // 2
        self.taken = 0
        self._by_owner: dict[str, int] = {}
        self.others: Mapping[str, int] = {}
        """Usage of owners at other processes. It counts against the owner, not the total."""

    def shares(self) -> Mapping[str, int]:
        """Return the usage of the heaviest named owners."""
        least = self.limit // _SHARED_FRACTION
        return {owner: size for owner, size in self._by_owner.items() if owner and size > least}

    def has(self, owner: str, size: int = 0) -> bool:
        """Return whether an owner may take more."""
        if self.taken + size > self.limit:
            return False
        return not owner or self._of(owner) + size <= self._limit_per_owner

    def _of(self, owner: str) -> int:
        return self._by_owner.get(owner, 0) + self.others.get(owner, 0)

    def try_take(self, owner: str, size: int) -> bool:
        """Take more if the owner may; return whether it did."""
        if not self.has(owner, size):
            return False
        self.take(owner, size)
        return True

    def is_full_for(self, owner: str) -> bool:
        """Return whether a named owner has more than its share."""
        return bool(owner) and self._of(owner) > self._limit_per_owner

    def take(self, owner: str, size: int) -> bool:
        """Take more, or give back if negative; return whether the quota is exceeded."""
        self.taken += size
        own = self._by_owner[owner] = self._by_owner.get(owner, 0) + size
        if not own:
            del self._by_owner[owner]
        return self.taken > self.limit or (bool(owner) and own > self._limit_per_owner)


Room = Quota
"""The name of the class in `a2a_adapters.dialects`."""

_FLAT_BYTES = 1024
"""The overhead of each object. The values of objects that are smaller are not examined."""

_VALUE_FACTOR = 24
"""Maximum ratio of a JSON value's size in memory to that on the wire."""


_LARGE_TEXT = 64 * 1024


def task_size(task: Task) -> int:
    """Return the size of a task in bytes, or about that of its text if it is large.

    `ByteSize` serializes the task, and takes twice its size while it does.
    """
    text = 0
    for artifact in task.artifacts:
        for part in artifact.parts:
            text += len(part.text)
    return text if text > _LARGE_TEXT else task.ByteSize()


def memory_size(kept: Task | Message) -> int:
    """Return about how many bytes of memory a task or message takes."""
    size = task_size(kept) if isinstance(kept, Task) else kept.ByteSize()
    if size <= _FLAT_BYTES:
        return size + _FLAT_BYTES
    if isinstance(kept, Message):
        values = _value_bytes([kept])
    else:
        carriers: list[Message | Artifact] = [*kept.history, kept.status.message, *kept.artifacts]
        values = kept.metadata.ByteSize() + _value_bytes(carriers)
    return size + _FLAT_BYTES + _VALUE_FACTOR * values


def _value_bytes(carriers: Iterable[Message | Artifact]) -> int:
    return sum(
        carrier.metadata.ByteSize()
        + sum(part.data.ByteSize() + part.metadata.ByteSize() for part in carrier.parts)
        for carrier in carriers
    )
