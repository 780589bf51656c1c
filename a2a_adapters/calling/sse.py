"""Server-sent events of an HTTP response (WHATWG HTML, section 9.2.6)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")


async def event_data(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the data of each event; comments, names and ids of events are left out."""
    events = Events()
    async for chunk in chunks:
        for data in events.ended_by(chunk):
            yield data


class Events:
    """Makes events of chunks."""

    def __init__(self) -> None:
        self._lines = _Lines()
        self._data: list[bytes] = []

    def ended_by(self, chunk: bytes) -> list[bytes]:
        """Return the data of the events that end in the next chunk."""
        ended = []
        for line in self._lines.ended_by(chunk):
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                ended.append(b"\n".join(self._data))
                self._data.clear()
        return ended


class _Lines:
    """Makes lines of chunks."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._is_first = True
        self._is_after_return = False  # then a \n belongs to the line end before it

    def ended_by(self, chunk: bytes) -> list[bytes]:
        """Return the lines that end in the next chunk."""
        text = chunk.removeprefix(b"\n") if self._is_after_return else chunk
        self._is_after_return = text.endswith(b"\r") if chunk else self._is_after_return
        lines = _LINE_END.split(text) if b"\r" in text else text.split(b"\n")
        self._rest.append(lines[0])
        if len(lines) == 1:
            return []
        lines[0] = b"".join(self._rest)
        if self._is_first:
            self._is_first = False
            lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
        self._rest = [lines.pop()]
        return lines
