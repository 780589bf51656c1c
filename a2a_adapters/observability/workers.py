"""The figures of all workers at one port: whichever is asked collects them from the others."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from pathlib import Path

_SECONDS = 2.0
"""How long a worker may take to answer. One that does not is left out."""


class WorkerFigures:
    """Exchanges figures between the workers of one command.

    Each worker answers at a Unix socket, named after its number, with its figures as text.

    Args:
        folder: Where the sockets are; only the user of the workers may enter it.
        number: This worker's number. One that is started in place of another has the same.

    Attributes:
        read: Returns this worker's figures as text.
    """

    read: Callable[[], bytes]

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._number = number

    @asynccontextmanager
    async def shared(self) -> AsyncGenerator[None]:
        """Let the other workers have this one's figures until the block ends."""

        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(self.read())
            writer.close()

        path = self._folder / str(self._number)
        path.unlink(missing_ok=True)  # of a worker that was killed
        async with await asyncio.start_unix_server(answer, path):
            yield

    async def collect(self) -> Mapping[str, str]:
        """Return the figures of all workers that answer, by their numbers."""
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
    except OSError:  # TimeoutError is one, too
        return ""
