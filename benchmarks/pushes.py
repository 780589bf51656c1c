"""Measures the cost of push notifications: `python benchmarks/pushes.py` prints only their figures.

The same server alternately gets messages without and with push configs. The receiver answers after
all messages have been answered, so that the messages are compared without their notifications. A
round ends when the end of every task has been delivered.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING

import load
import uvloop
from processes import Process, start
from storages import CONNECTIONS, STORAGES, postgresql, url_of

if TYPE_CHECKING:
    from report import Figures

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
DELIVERY_SECONDS = 120
ROUND_SECONDS = 0.6
"""Tasks per round; a server delivers to about a thousand tasks of one receiver at once."""


def pushes(figures: Figures, rounds: int) -> None:
    """Measure messages with and without push configs in every storage."""
    with tempfile.TemporaryDirectory() as folder, postgresql() as server:
        for name in STORAGES:
            with start("pushing", "echo", STORAGE=url_of(name, folder, server)) as process:
                for _ in range(rounds):
                    uvloop.run(_round(figures, name, process))


async def _round(figures: Figures, name: str, process: Process) -> None:
    receiver = _Receiver()
    listening = await asyncio.get_running_loop().create_server(receiver, "127.0.0.1", 0)
    hook = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/hook"
    plain = await load.throughput(process.port, ROUND_SECONDS, CONNECTIONS, load.COMPLETED)
    sent, took = await load.answered(process.port, ROUND_SECONDS, CONNECTIONS, load.COMPLETED, hook)
    receiver.open()
    async with asyncio.timeout(DELIVERY_SECONDS):
        await receiver.has_ended(sent)
    listening.close()
    figures["plain send", name].append(plain)
    figures["pushed send", name].append(sent / took)
    figures["pushed x plain", name].append(sent / took / plain)
    figures["notifications", name].append(receiver.notifications / sent)


class _Receiver:
    """Creates the protocols of connections, and counts the notifications."""

    def __init__(self) -> None:
        self.notifications = 0
        self.ended = 0
        """Number of notifications about the end of a task."""
        self._news = asyncio.Event()
        self._is_open = False
        self._waiting: list[asyncio.Transport] = []

    def open(self) -> None:
        """Answer the received and all further notifications."""
        self._is_open = True
        for transport in self._waiting:
            transport.write(_ANSWER)

    async def has_ended(self, tasks: int) -> None:
        """Wait for notifications about the ends of that many tasks."""
        while self.ended < tasks:
            self._news.clear()
            await self._news.wait()

    def receive(self, body: bytes, transport: asyncio.Transport) -> None:
        """Count a notification, and answer it when due."""
        self.notifications += 1
        self.ended += bool(load.COMPLETED.search(body))
        self._news.set()
        if self._is_open:
            transport.write(_ANSWER)
        else:
            self._waiting.append(transport)

    def __call__(self) -> asyncio.Protocol:
        return _Connection(self)


class _Connection(asyncio.Protocol):
    def __init__(self, receiver: _Receiver) -> None:
        self._receiver = receiver
        self._buffer = b""

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (body := load.body_of(self._buffer)) is not None:
            self._receiver.receive(body, self._transport)
            _, _, rest = self._buffer.partition(b"\r\n\r\n")
            self._buffer = rest[len(body) :]


def main() -> None:
    figures: Figures = defaultdict(list)
    pushes(figures, rounds=9)
    print(json.dumps({f"{name} {measure}": median(v) for (measure, name), v in figures.items()}))


if __name__ == "__main__":
    main()
