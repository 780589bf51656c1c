"""Server-sent events of an HTTP response.

httpx takes U+2028 and its like for line ends, which JSON may hold unescaped: lines are told
apart here as the standard says (WHATWG HTML, section 9.2.6), by bytes.
"""

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
    async for chunk in chunks:
        if b"\n" not in chunk and b"\r" not in chunk:
            rest.append(chunk)
            continue
        rest.append(chunk)
        text = b"".join(rest)
        if is_split := text.endswith(b"\r"):  # its \n may be in the next chunk
            text = text[:-1]
        *lines, last = _LINE_END.split(text)
        rest = [last, b"\r"] if is_split else [last]
        for line in lines:
            yield line
