"""Holds many streams open at once: `python benchmarks/streams.py`.

Fails if a chunk is lost, duplicated or out of order, if memory is not released, or if a stalled
reader slows the others down. The stalled reader reads nothing while its agent sends more than a
subscriber may fall behind: its stream ends, and the task completes. In the memory test, the server
keeps no finished tasks. One server process and one client process run on loopback.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import sys
import time
from dataclasses import dataclass, field
from statistics import median, quantiles

import httpx
import load
import uvloop
from processes import DATA, Process, start
from report import machine

WARM_UP_ROUNDS = 2
MOST_GROWTH = 0.10
MOST_SLOWDOWN = 1.5
"""Tolerated slowdown of others beside a stopped reader; shared machines are noisy."""
SECONDS = 300
UNREAD = "20000"
"""Chunks sent to the stopped reader: more than a subscriber may fall behind."""


@dataclass
class Stream:
    """A received stream."""

    raw: bytearray = field(default_factory=bytearray)
    first: float = 0.0

    def events(self) -> list[dict]:
        """Return the events, decoded from HTTP's chunks."""
        _, _, rest = bytes(self.raw).partition(b"\r\n\r\n")
        body = bytearray()
        while True:
            size, _, rest = rest.partition(b"\r\n")
            if not int(size, 16):
                break
            body += rest[: int(size, 16)]
            rest = rest[int(size, 16) + 2 :]
        lines = body.decode().split("\n")
        return [json.loads(line[6:])["result"] for line in lines if line.startswith("data: ")]


def check(stream: Stream, chunks: int) -> str:
    """Check a stream, and return the id of its task."""
    task, *updates, ended = stream.events()
    words = [u["artifactUpdate"]["artifact"]["parts"][0].get("text", "") for u in updates]
    expected = [f"word{number} " for number in range(chunks)]
    assert [word for word in words if word] == expected, "a chunk is lost, repeated or out of order"
    assert updates[-1]["artifactUpdate"]["lastChunk"], "the artifact is not closed"
    assert ended["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    return task["task"]["id"]


async def receive(port: int, chunks: int) -> Stream:
    """Read one stream to its end."""
    stream = Stream()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(load.request("SendStreamingMessage", str(chunks)))
    began = time.perf_counter()
    while not stream.raw.endswith(b"\r\n0\r\n\r\n"):
        data = await reader.read(65536)
        if not data:
            raise ConnectionError(f"a stream broke after {len(stream.raw)} bytes")
        stream.first = stream.first or time.perf_counter() - began
        stream.raw += data
    writer.close()
    return stream


async def receive_all(port: int, streams: int, chunks: int) -> tuple[list[Stream], float]:
    """Read that many concurrent streams; return them and the duration."""
    began = time.perf_counter()
    async with asyncio.timeout(SECONDS):
        received = await asyncio.gather(*(receive(port, chunks) for _ in range(streams)))
    return received, time.perf_counter() - began


async def correctness(port: int, streams: int, chunks: int) -> dict[str, str]:
    """Check every stream and its stored task."""
    received, took = await receive_all(port, streams, chunks)
    ids = {check(stream, chunks) for stream in received}
    assert len(ids) == streams, "two streams belong to the same task"
    text = "".join(f"word{number} " for number in range(chunks))
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
        for task_id in ids:
            assert await stored_text(http, task_id) == text, "the store holds a different text"
    firsts = [stream.first * 1e3 for stream in received]
    return {
        "concurrent streams x chunks": f"{streams} x {chunks}",
        "every chunk received once and in order": "yes",
        "every task stored with its complete text": "yes",
        "time until all streams were received": f"{took:.2f} s",
        "chunks per second": f"{streams * chunks / took:,.0f}",
        "first bytes, median and 99th percentile": (
            f"{median(firsts):.0f} ms, {quantiles(firsts, n=100)[-1]:.0f} ms"
        ),
    }


async def stored_text(http: httpx.AsyncClient, task_id: str) -> str:
    call = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": task_id}}
    answer = (await http.post("/", json=call, headers={"A2A-Version": "1.0"})).json()
    assert answer["result"]["status"]["state"] == "TASK_STATE_COMPLETED", answer
    return answer["result"]["artifacts"][0]["parts"][0]["text"]


async def memory(server: Process, streams: int, chunks: int, rounds: int) -> dict[str, str]:
    """Check that the memory of streams is released; the server keeps no finished tasks."""
    idle = server.rss()
    for _ in range(WARM_UP_ROUNDS):
        await receive_all(server.port, streams, chunks)
    before = server.rss()
    for _ in range(rounds):
        await receive_all(server.port, streams, chunks)
    after = server.rss()
    growth = after / before - 1
    assert growth <= MOST_GROWTH, f"memory grew by {growth:.0%}"
    return {
        "memory of the server before the first stream": mebibytes(idle),
        f"after {WARM_UP_ROUNDS} rounds of all streams": mebibytes(before),
        f"after {rounds} more rounds": f"{mebibytes(after)} ({growth:+.1%})",
    }


async def kept(server: Process, streams: int, chunks: int, rounds: int) -> dict[str, str]:
    """Measure the memory that a server keeps for finished tasks."""
    await receive_all(server.port, streams, chunks)
    before = server.rss()
    for _ in range(rounds):
        await receive_all(server.port, streams, chunks)
    each = (server.rss() - before) / rounds / streams
    return {"memory of the store for each finished task": f"{each / 1024:.1f} KiB"}


async def stopped_reader(port: int, streams: int, chunks: int) -> dict[str, str]:
    """Check that a stalled reader does not affect others."""
    _, alone = await receive_all(port, streams, chunks)
    loop = asyncio.get_running_loop()
    with socket.socket() as stopped:
        stopped.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stopped.setblocking(False)
        await loop.sock_connect(stopped, ("127.0.0.1", port))
        await loop.sock_sendall(stopped, load.request("SendStreamingMessage", UNREAD))
        received, beside = await receive_all(port, streams, chunks)
        for stream in received:
            check(stream, chunks)
        slowdown = await finished_in(port)
    assert beside < alone * MOST_SLOWDOWN + slowdown, f"{beside:.2f} s instead of {alone:.2f} s"
    return {
        "the same with a stalled reader": f"{beside:.2f} s; without it {alone:.2f} s",
        "the task of the stalled reader": "completed",
    }


async def finished_in(port: int) -> float:
    """Wait until every task is completed; return the duration."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"status": WORKING}}
    began = time.perf_counter()
    async with asyncio.timeout(SECONDS), httpx.AsyncClient(timeout=60) as http:
        while True:
            url, headers = f"http://127.0.0.1:{port}/", {"A2A-Version": "1.0"}
            answer = (await http.post(url, json=call, headers=headers)).json()
            if not answer["result"]["tasks"]:
                return time.perf_counter() - began
            await asyncio.sleep(0.05)


WORKING = "TASK_STATE_WORKING"


def mebibytes(size: float) -> str:
    return f"{size / 2**20:.1f} MiB"


def main() -> None:
    options = parse()
    DATA.mkdir(parents=True, exist_ok=True)
    size = (options.streams, options.chunks)
    rows: dict[str, str] = {}
    with start("ours", "stream") as server:
        rows |= uvloop.run(correctness(server.port, *size))
        rows |= uvloop.run(stopped_reader(server.port, *size))
    with start("forgetful", "stream") as server:
        rows |= uvloop.run(memory(server, *size, options.rounds))
    with start("ours", "stream") as server:
        rows |= uvloop.run(kept(server, *size, options.rounds))
    for name, value in rows.items():
        print(f"{name}: {value}")
    print(machine([]))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--chunks", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
