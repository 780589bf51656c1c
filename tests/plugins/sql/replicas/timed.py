"""The agent measured by `bars`: counts at a pace, or waits to be cancelled."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from pathlib import Path

from a2a_adapters import ServerOptions, TextDelta, serve
from a2a_adapters.plugin import Adapter, AgentDescription

PAUSE = 0.1
"""Seconds between chunks, slightly slower than a model."""


class Timed(Adapter):
    """Executes messages.

    Args:
        folder: Folder of the file `go` and of the times of cancellation.
    """

    def __init__(self, folder):
        self._folder = Path(folder)

    def describe(self):
        return AgentDescription(name="timed", description="Counts, or waits to be stopped.")

    def stream(self, request):
        what, word = request.text.split()
        return self._count(int(word)) if what == "count" else self._until_stopped(what, word)

    async def _count(self, chunks):
        """Count once the file `go` exists."""
        yield TextDelta("counting ")
        while True:
            if (self._folder / "go").exists():
                break
            await asyncio.sleep(PAUSE * random.uniform(0.5, 1.5))
        for number in range(chunks):
            yield TextDelta(f"#{number} ")
            await asyncio.sleep(PAUSE)

    async def _until_stopped(self, what, word):
        """Send text or stay silent, and record the time of cancellation."""
        try:
            yield TextDelta("begun ")
            if what == "silent":
                await asyncio.Event().wait()
            while True:
                yield TextDelta("more ")
                await asyncio.sleep(PAUSE)
        finally:
            (self._folder / word).write_text(str(time.monotonic()))


async def echo(text: str) -> str:
    """Echo."""
    return text


def compute(text: str) -> str:
    """Echo after 5 ms of computation that holds the GIL."""
    ends = time.thread_time() + 0.005
    while time.thread_time() < ends:
        pass
    return text


if __name__ == "__main__":
    storage, folder, *bus = sys.argv[1:]
    options = ServerOptions(storage=storage, bus=bus[0] if bus else None)
    serve(Timed(folder), port=0, options=options)
