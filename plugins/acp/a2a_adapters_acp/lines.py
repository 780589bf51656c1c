"""Newline-delimited JSON between a process and the SDK."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

_CHUNK = 64 * 1024
_LINE_BYTES = 32 * 1024 * 1024

logger = logging.getLogger(__name__)


async def _at_once() -> None:
    pass


class Lines:
    """A transport for the SDK's connections that bounds the memory a peer can use.

    The SDK's own transport stops at a line that is not a JSON object, and starts a task for each
    message without a limit.

    Args:
        reader: The incoming messages.
        writer: The outgoing messages.
        is_useful: Whether to process a message; others are dropped.
        ready: Waits until the next message may be read.
    """

    def __init__(
        self,
        reader: StreamReader,
        writer: StreamWriter,
        *,
        is_useful: Callable[[dict[str, Any]], bool] = bool,
        ready: Callable[[], Awaitable[None]] = _at_once,
    ) -> None:
        self._writer = writer
        self._lines = _lines(reader)
        self._is_useful = is_useful
        self._ready = ready

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message.

        Raises:
            ConnectionError: The peer has closed the connection.
        """
        if self._writer.is_closing():
            raise ConnectionError("the other process has ended")
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next useful message; None at the end or after a line that is too long."""
        await self._ready()
        async for line in self._lines:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                logger.debug("a line is not JSON: %.200r", line)
            else:
                if isinstance(message, dict) and self._is_useful(message):
                    return message
            await self._ready()
        return None

    async def close(self) -> None:
        """Close the output."""
        with suppress(OSError):
            self._writer.close()


async def _lines(reader: StreamReader) -> AsyncIterator[bytes]:
    """Yield lines until the end of the stream or a line that is too long."""
    buffer, seen = bytearray(), 0
    while chunk := await reader.read(_CHUNK):
        buffer += chunk
        while (end := buffer.find(b"\n", seen)) >= 0:
            yield bytes(buffer[:end])
            del buffer[: end + 1]
            seen = 0
        seen = len(buffer)
        if seen > _LINE_BYTES:
            logger.error("a line has over %d bytes", _LINE_BYTES)
            return
