"""About how much memory tasks and messages take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.types import Message, Task

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a.types import Artifact

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
