"""Flow control of answers to slow processes."""

from __future__ import annotations

import asyncio
from collections import deque

WINDOW_BYTES = 1024 * 1024
"""Maximum number of unacknowledged bytes, excluding the next part."""

TAKEN_BYTES = WINDOW_BYTES // 4
"""Bytes received between acknowledgements."""

_FRAME_BYTES = 1000
"""Overhead of a frame in bytes."""


def size_of(body: bytes) -> int:
    """Return the approximate size of a part in bytes."""
    return len(body) + _FRAME_BYTES


class Window:
    """The unacknowledged parts of an answer."""

    def __init__(self) -> None:
        self._sent: deque[tuple[int, int]] = deque()
        self._bytes = 0
        self._has_room = asyncio.Event()
        self._has_room.set()

    def send(self, number: int, body: bytes) -> None:
        """Record a sent part."""
        size = size_of(body)
        self._sent.append((number, size))
        self._bytes += size
        if self._bytes > WINDOW_BYTES:
            self._has_room.clear()

    def acknowledge(self, number: int | None = None) -> None:
        """Record an acknowledgement of all parts up to a number; None assumes all."""
        while self._sent and (number is None or self._sent[0][0] <= number):
            self._bytes -= self._sent.popleft()[1]
        if self._bytes <= WINDOW_BYTES:
            self._has_room.set()

    async def room(self) -> None:
        """Wait until the next part may be sent."""
        await self._has_room.wait()


class Receipts:
    """Counts received bytes until the next acknowledgement is due."""

    def __init__(self) -> None:
        self._bytes = 0

    def is_due(self, body: bytes) -> bool:
        """Count a received part; return whether to acknowledge now."""
        self._bytes += size_of(body)
        if self._bytes < TAKEN_BYTES:
            return False
        self._bytes = 0
        return True
