"""Server-sent events of an HTTP response (WHATWG HTML, section 9.2.6)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_LINE_END = re.compile(rb"\r\n|\n|\r")


async def event_data(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the data of each event; comments, names and ids of events are left out."""
    data: list[bytes] = []
    async for line in _lines(chunks):
        if not line:
            if data:
                yield b"\n".join(data)
                data.clear()
        elif line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest: list[bytes] = []
    is_after_return = False  # then a \n belongs to the line end before it
    async for chunk in chunks:
        text = chunk.removeprefix(b"\n") if is_after_return else chunk
        is_after_return = text.endswith(b"\r") if chunk else is_after_return
        first, *lines = _LINE_END.split(text)
        rest.append(first)
        if not lines:
            continue
        yield b"".join(rest)
        rest = [lines.pop()]
        for line in lines:
            yield line
