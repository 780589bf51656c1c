"""What push notifications cost: `python benchmarks/pushes.py` prints their figures alone.

The same server gets messages without and with push configs by turns. The receiver answers at
once; a round ends when every task's end was delivered.
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


def pushes(figures: Figures, rounds: int, seconds: float) -> None:
    """Measure messages with and without push configs in every storage."""
    with tempfile.TemporaryDirectory() as folder, postgresql() as server:
        for name in STORAGES:
            with start("pushing", "echo", STORAGE=url_of(name, folder, server)) as process:
                for _ in range(rounds):
                    uvloop.run(_round(figures, name, process, seconds))


async def _round(figures: Figures, name: str, process: Process, seconds: float) -> None:
    receiver = _Receiver()
    listening = await asyncio.get_running_loop().create_server(receiver, "127.0.0.1", 0)
    hook = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/hook"
    plain = await load.throughput(process.port, seconds, CONNECTIONS, load.COMPLETED)
    sent, took = await load.answered(process.port, seconds, CONNECTIONS, load.COMPLETED, hook)
    async with asyncio.timeout(DELIVERY_SECONDS):
        await receiver.has_ended(sent)
    listening.close()
    figures["plain send", name].append(plain)
    figures["pushed send", name].append(sent / took)
    figures["notifications", name].append(receiver.notifications / sent)


class _Receiver:
    """Makes the protocols of connections, and counts what comes over them."""

    def __init__(self) -> None:
        self.notifications = 0
        self.ended = 0
        """How many told the end of a task."""
        self._news = asyncio.Event()

    async def has_ended(self, tasks: int) -> None:
        """Wait until the ends of so many tasks were told."""
        while self.ended < tasks:
            self._news.clear()
            await self._news.wait()

    def receive(self, body: bytes) -> None:
        """Count a notification."""
        self.notifications += 1
        self.ended += bool(load.COMPLETED.search(body))
        self._news.set()

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
            self._receiver.receive(body)
            _, _, rest = self._buffer.partition(b"\r\n\r\n")
            self._buffer = rest[len(body) :]
            self._transport.write(_ANSWER)


def main() -> None:
    figures: Figures = defaultdict(list)
    pushes(figures, rounds=5, seconds=2)
    for name in STORAGES:
        ratios = zip(figures["pushed send", name], figures["plain send", name], strict=True)
        print(name, "ratios", [f"{a / b:.2f}" for a, b in ratios])
    print(json.dumps({f"{name} {measure}": median(v) for (measure, name), v in figures.items()}))


if __name__ == "__main__":
    main()
