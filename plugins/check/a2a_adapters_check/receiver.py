"""Local receiver of push notifications, to detect agents that call internal addresses."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_HEAD = 8192
_SECONDS = 2.0
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Receiver:
    """Server on loopback that an agent should refuse to call.

    Attributes:
        url: Its URL, which contains a random secret.
    """

    def __init__(self) -> None:
        self.url = ""
        self._path = f"/{uuid4()}"
        self._called = asyncio.Event()

    def listen_at(self, port: int) -> None:
        """Set the port."""
        self.url = f"http://127.0.0.1:{port}{self._path}"

    async def was_called(self, seconds: float) -> bool:
        """Return whether it has been called, waiting up to `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                return await self._called.wait()
        except TimeoutError:
            return False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        try:
            async with asyncio.timeout(_SECONDS):
                if self._path.encode() in await reader.read(_HEAD):
                    self._called.set()
                writer.write(_ANSWER)
                await writer.drain()
        except (OSError, TimeoutError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def receiving() -> AsyncGenerator[Receiver]:
    """Yield a receiver that listens until the context exits."""
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.listen_at(server.sockets[0].getsockname()[1])
    try:
        yield receiver
    finally:
        server.close()
