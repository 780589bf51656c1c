"""How much of an answer may be on its way to a process that takes it slowly."""

from __future__ import annotations

import asyncio
from collections import deque

WINDOW_BYTES = 1024 * 1024
"""How much may be sent that was not taken yet, beside what is sent next."""

TAKEN_BYTES = WINDOW_BYTES // 4
"""After how much its receiver says what it has taken."""

_FRAME_BYTES = 1000
"""What a frame takes beside its content."""


def size_of(body: bytes) -> int:
    """Return about how many bytes a part of an answer takes."""
    return len(body) + _FRAME_BYTES


class Window:
    """The parts of an answer that were sent, and not taken."""

    def __init__(self) -> None:
        self._sent: deque[tuple[int, int]] = deque()
        self._bytes = 0
        self._has_room = asyncio.Event()
        self._has_room.set()

    def send(self, number: int, body: bytes) -> None:
        """Note that a part is sent."""
        size = size_of(body)
        self._sent.append((number, size))
        self._bytes += size
        if self._bytes > WINDOW_BYTES:
            self._has_room.clear()

    def take(self, number: int | None = None) -> None:
        """Note that all parts up to that number are taken; None if nobody can tell."""
        while self._sent and (number is None or self._sent[0][0] <= number):
            self._bytes -= self._sent.popleft()[1]
        if self._bytes <= WINDOW_BYTES:
            self._has_room.set()

    async def room(self) -> None:
        """Wait until another part may be sent."""
        await self._has_room.wait()


class Taking:
    """What was taken of an answer, and not said yet."""

    def __init__(self) -> None:
        self._bytes = 0

    def is_due(self, body: bytes) -> bool:
        """Tell whether it is to be said, with this part, how much was taken."""
        self._bytes += size_of(body)
        if self._bytes < TAKEN_BYTES:
            return False
        self._bytes = 0
        return True
