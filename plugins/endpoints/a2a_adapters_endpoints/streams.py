"""Decodes streams of bytes to text and lines."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def texts_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Yield text as it arrives, in whole characters; invalid UTF-8 is replaced."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    async for chunk in chunks:
        if text := decoder.decode(chunk):
            yield text
    if rest := decoder.decode(b"", final=True):
        yield rest


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines that are not blank. Only a newline ends a line."""
    held: list[bytes] = []
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        held.append(first)
        for part in others:
            if line := b"".join(held).strip():
                yield line
            held = [part]
    if line := b"".join(held).strip():
        yield line
