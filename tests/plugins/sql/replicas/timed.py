"""What `bars` measures: an agent that counts at a pace, or does nothing until it is stopped."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from pathlib import Path

from a2a_adapters import Adapter, AgentDescription, ServerOptions, TextDelta, serve

PAUSE = 0.1
"""Seconds between two chunks: a model's pace, and a little slower."""


class Timed(Adapter):
    """Does what a message says.

    Args:
        folder: Where it looks for the file `go`, and notes when it was stopped.
    """

    def __init__(self, folder):
        self._folder = Path(folder)

    def describe(self):
        return AgentDescription(name="timed", description="Counts, or waits to be stopped.")

    def stream(self, request):
        what, word = request.text.split()
        return self._count(int(word)) if what == "count" else self._until_stopped(what, word)

    async def _count(self, chunks):
        """Count as soon as the file `go` is there."""
        yield TextDelta("counting ")
        while True:
            if (self._folder / "go").exists():
                break
            await asyncio.sleep(PAUSE * random.uniform(0.5, 1.5))
        for number in range(chunks):
            yield TextDelta(f"#{number} ")
            await asyncio.sleep(PAUSE)

    async def _until_stopped(self, what, word):
        """Talk, or say nothing at all, and note when that was stopped."""
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
    """Say what is said."""
    return text


def compute(text: str) -> str:
    """Say what is said, after 5 ms of work that no other thread can share."""
    ends = time.thread_time() + 0.005
    while time.thread_time() < ends:
        pass
    return text


if __name__ == "__main__":
    storage, folder, *bus = sys.argv[1:]
    options = ServerOptions(storage=storage, bus=bus[0] if bus else None)
    serve(Timed(folder), port=0, options=options)
