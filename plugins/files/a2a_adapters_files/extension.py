"""The A2A extension for large files, whose content is sent in pieces of equal size."""

from __future__ import annotations

from asyncio import to_thread
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable

FILES_EXTENSION = "urn:a2a-adapters:extension:files:v1"
"""URI of the A2A extension for files that are uploaded before a message refers to them.

Its parameters in the card are `address`, relative to the agent's URL, `inline_bytes`, above which
clients should upload, and `file_bytes`, the maximum size of a file. A client sends `filename`,
`media_type` and `size` as JSON with POST to the address. The answer has the `url` for the file part
of the message, and `upload`, a URL with the placeholder `{part}`. The client sends the content
there with PUT in pieces of `part_bytes`, the last one shorter, with their numbers from 0 as `part`.
"""


async def pieces_of(
    content: bytes | Path | AsyncIterable[bytes], size: int
) -> AsyncGenerator[bytes]:
    """Yield content in pieces of `size` bytes, the last one shorter; a file is read in threads."""
    if isinstance(content, bytes):
        for start in range(0, len(content), size):
            yield content[start : start + size]
    elif isinstance(content, Path):
        with await to_thread(content.open, "rb") as source:
            while piece := await to_thread(source.read, size):
                yield piece
    else:
        async for piece in _joined(content, size):
            yield piece


async def _joined(content: AsyncIterable[bytes], size: int) -> AsyncGenerator[bytes]:
    held = bytearray()
    async for piece in content:
        held += piece
        while len(held) >= size:
            yield bytes(held[:size])
            del held[:size]
    if held:
        yield bytes(held)
