"""Measures many open streams and questions in one process, and many results in one task.

`python sizes.py` prints the figures.
"""

from __future__ import annotations

import asyncio
import json
import re
import resource
import tempfile
from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING

import load
import uvloop
from processes import Process, start

if TYPE_CHECKING:
    from report import Figures

STREAMS, STREAMS_AT_ONCE = 10_000, 500
STREAMS_OF_OTHERS = 2000
OUTPUTS = 4000
WARM_UP_QUESTIONS, QUESTIONS = 200, 5000
ASKED = re.compile(rb'"TASK_STATE_INPUT_REQUIRED"')
_SECONDS = 120
_FILES = STREAMS + 1000


def sizes(figures: Figures, rounds: int) -> None:
    """Measure all of them."""
    allow_files()
    for name, streams in (
        ("roomy", STREAMS),
        ("sdk", STREAMS_OF_OTHERS),
        ("starlette", STREAMS_OF_OTHERS),
    ):
        with start(name, "waiting") as server:
            idle = server.rss()
            full = uvloop.run(with_open_streams(server, streams))
            figures["open streams", name].append(full / 1e6)
            figures["open stream", name].append((full - idle) / streams / 1e3)
    with start("ours", "outputs") as server:
        for _ in range(rounds):
            took = uvloop.run(load.send(server.port, 1, 1, load.COMPLETED, str(OUTPUTS)))
            figures["outputs", "ours"].append(took)
    figures["question", "ours"].append(question())


def question() -> float:
    """Return the memory of a task in SQLite that waits for an answer, in KiB."""
    with (
        tempfile.TemporaryDirectory() as folder,
        start("stored", "asking", STORAGE=f"sqlite:///{folder}/tasks.db") as server,
    ):
        uvloop.run(load.send(server.port, WARM_UP_QUESTIONS, 16, ASKED))
        before = server.rss()
        uvloop.run(load.send(server.port, QUESTIONS, 16, ASKED))
        return (server.rss() - before) / QUESTIONS / 1024


def allow_files() -> None:
    """Allow this process and its children a connection for every stream."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(_FILES, hard)), hard))


async def with_open_streams(server: Process, streams: int) -> int:
    """Return the memory of a server with that many streams open, in bytes."""
    writers: list[asyncio.StreamWriter] = []
    async with asyncio.timeout(_SECONDS):
        for _ in range(0, streams, STREAMS_AT_ONCE):
            opened = (open_stream(server.port) for _ in range(STREAMS_AT_ONCE))
            writers += await asyncio.gather(*opened)
    size = server.rss()
    for writer in writers:
        writer.close()
    return size


async def open_stream(port: int) -> asyncio.StreamWriter:
    """Begin a stream and read its first word."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(load.request("SendStreamingMessage", "hello"))
    await reader.readuntil(b'"word0 "')
    return writer


def main() -> None:
    figures: Figures = defaultdict(list)
    sizes(figures, rounds=3)
    print(json.dumps({" of ".join(measure): median(values) for measure, values in figures.items()}))


if __name__ == "__main__":
    main()
