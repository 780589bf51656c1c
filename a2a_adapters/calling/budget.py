"""How many values an agent's answer may hold, told before any of them is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.errors import RemoteAnswerError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def bounded_values(
    chunks: AsyncIterator[bytes], limit: int, *, is_stream: bool
) -> AsyncIterator[bytes]:
    """Pass on what comes, as long as no answer, or event of a stream, holds more values.

    Raises:
        RemoteAnswerError: One does; its last chunk is not passed on.
    """
    budget = _Budget(limit)
    after_return = False
    async for chunk in chunks:
        if is_stream:
            text = chunk.removeprefix(b"\n") if after_return else chunk
            after_return = chunk.endswith(b"\r")
            budget.add_lines(text.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
        else:
            budget.add(chunk)
        yield chunk


class _Budget:
    """Counts the values of JSON that comes in pieces, as `protocol.values` does of a whole."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._count = 0
        self._is_in_string = False
        self._escape = b""
        self._has_line = False

    def add_lines(self, text: bytes) -> None:
        """Take a piece of a stream: strings end with their lines, and events by empty ones."""
        is_between = not (self._has_line or self._count)
        if is_between and text.endswith(b"\n\n") and len(text) <= self._limit:
            return  # whole events of fewer bytes than they may hold values
        first, *others = text.split(b"\n")
        self._take(first)
        for line in others:
            if not self._has_line:
                self._count = 0
            self._is_in_string, self._escape, self._has_line = False, b"", False
            self._take(line)

    def _take(self, line: bytes) -> None:
        if line:
            self._has_line = True
            self.add(line)

    def add(self, text: bytes) -> None:
        """Take a piece.

        Raises:
            RemoteAnswerError: There are too many values now.
        """
        text = (self._escape + text).replace(b"\\\\", b"")
        self._escape = b"\\" if text.endswith(b"\\") else b""
        pieces = text.replace(b'\\"', b"").split(b'"')
        for outside in pieces[self._is_in_string :: 2]:
            self._count += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
        self._is_in_string ^= len(pieces) % 2 == 0
        if self._count > self._limit:
            raise RemoteAnswerError(f"the agent's answer holds over {self._limit:,} values")
