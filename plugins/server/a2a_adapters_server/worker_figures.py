"""Exchanges metrics between workers on one port, any of which may be scraped."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from pathlib import Path

_SECONDS = 2.0
"""Maximum time for a worker's answer; slower ones are omitted."""


class WorkerFigures:
    """Exchanges metrics between the workers of one command.

    Each worker sends its metrics as text over a Unix socket named after its number.

    Args:
        folder: The folder of the sockets, accessible only to the workers' user.
        number: This worker's number, which a replacement inherits.

    Attributes:
        read: Returns this worker's metrics as text.
    """

    read: Callable[[], bytes]

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._number = number

    @asynccontextmanager
    async def shared(self) -> AsyncGenerator[None]:
        """Send this worker's metrics to others until the block ends."""

        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(self.read())
            writer.close()

        path = self._folder / str(self._number)
        path.unlink(missing_ok=True)  # left by a killed worker
        async with await asyncio.start_unix_server(answer, path):
            yield

    async def collect(self) -> Mapping[str, str]:
        """Return the metrics of all responding workers, by number."""
        paths = sorted(self._folder.iterdir())
        texts = await asyncio.gather(*map(_read, paths))
        return {path.name: text for path, text in zip(paths, texts, strict=True)}


async def _read(path: Path) -> str:
    try:
        async with asyncio.timeout(_SECONDS):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                return (await reader.read()).decode()
            finally:
                writer.close()
    except OSError:  # including TimeoutError
        return ""
