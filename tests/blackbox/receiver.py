"""A receiver of push notifications that refuses some at first."""

from __future__ import annotations

import asyncio
import json
import random
from collections import defaultdict
from contextlib import asynccontextmanager, suppress
from typing import Any

TOKEN = "x-a2a-notification-token"
LAST = "Content-Length: 0\r\nConnection: close\r\n"
UNAVAILABLE = 0.1
"""Share of notifications that it refuses at first."""


class Receiver:
    """Receives notifications of all tasks; each task has its own token.

    Args:
        seed: Decides which notifications are refused at first.

    Attributes:
        url: Its URL, once it listens.
        states: The received states in order, by the tasks' tokens.
        tasks: The ids of the tasks of notifications, by token.
    """

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.url = ""
        self.states: dict[str, list[str]] = defaultdict(list)
        self.tasks: dict[str, set[str]] = defaultdict(set)

    @asynccontextmanager
    async def listening(self):
        """Listen on a free port."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        async with server:
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/notify"
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[1:]
            pairs = (line.partition(":") for line in head)
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            status = self._take(headers.get(TOKEN, ""), json.loads(body))
            writer.write(f"HTTP/1.1 {status}\r\n{LAST}\r\n".encode())
            await writer.drain()
        writer.close()

    def _take(self, token: str, event: dict[str, Any]) -> str:
        if self._chance.random() < UNAVAILABLE:
            return "503 Service Unavailable"
        [about] = event.values()
        self.tasks[token].add(about.get("taskId") or about["id"])
        if status := about.get("status"):
            self.states[token].append(status["state"])
        return "204 No Content"
