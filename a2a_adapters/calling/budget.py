"""How many values an agent's answer may hold, told before any of them is made."""

from __future__ import annotations

from a2a_adapters.calling.errors import RemoteAnswerError


class ValueBudget:
    """Counts the values of JSON that comes in pieces, as `protocol.values` does of a whole.

    Args:
        limit: How many values an answer may hold, or each event of a stream.
        is_stream: Whether the pieces are of a stream of server-sent events.
    """

    def __init__(self, limit: int, *, is_stream: bool) -> None:
        self._limit = limit
        self._is_stream = is_stream
        self._count = 0
        self._is_in_string = False
        self._escape = b""
        self._has_line = False
        self._is_after_return = False  # then a \n belongs to the line end before it

    def take(self, piece: bytes) -> None:
        """Count the next piece.

        Raises:
            RemoteAnswerError: There are too many values now.
        """
        if not self._is_stream:
            self._add(piece)
            return
        text = piece.removeprefix(b"\n") if self._is_after_return else piece
        self._is_after_return = piece.endswith(b"\r")
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._take_lines(text)

    def _take_lines(self, text: bytes) -> None:
        """Take a piece of a stream: strings end with their lines, and events by empty ones."""
        is_between = not (self._has_line or self._count)
        if is_between and text.endswith(b"\n\n") and len(text) <= self._limit:
            return  # whole events of fewer bytes than they may hold values
        first, *others = text.split(b"\n")
        self._take_line(first)
        for line in others:
            if not self._has_line:
                self._count = 0
            self._is_in_string, self._escape, self._has_line = False, b"", False
            self._take_line(line)

    def _take_line(self, line: bytes) -> None:
        if line:
            self._has_line = True
            self._add(line)

    def _add(self, text: bytes) -> None:
        text = (self._escape + text).replace(b"\\\\", b"")
        self._escape = b"\\" if text.endswith(b"\\") else b""
        pieces = text.replace(b'\\"', b"").split(b'"')
        for outside in pieces[self._is_in_string :: 2]:
            self._count += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
        self._is_in_string ^= len(pieces) % 2 == 0
        if self._count > self._limit:
            raise RemoteAnswerError(f"the agent's answer holds over {self._limit:,} values")
