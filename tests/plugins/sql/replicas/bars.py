"""Measure the delay of replicas, cancellations through replicas, and their throughput.

python -m tests.plugins.sql.replicas.bars --write docs/replicas.md
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import urlsplit

import httpx

from benchmarks import load
from tests.plugins.sql.replicas.reading import Stream, message
from tests.plugins.sql.replicas.redis_server import redis_url
from tests.support.postgresql import new_database
from tests.support.processes import launched

V1 = {"A2A-Version": "1.0"}
CONNECTIONS = 32
QUANTILES = "median and 99th percentile"
PLACE = re.compile(r"(?<=<!-- figures -->\n).*(?=<!-- end of figures -->)", re.DOTALL)


@contextmanager
def replicas(folder, count, *bus):
    """Run processes that serve `timed` from one database; yield their addresses."""
    command = [
        sys.executable,
        "-m",
        "tests.plugins.sql.replicas.timed",
        new_database(),
        str(folder),
        *bus,
    ]
    with ExitStack() as stack:
        yield [stack.enter_context(launched(command))[1] for _ in range(count)]


async def read_all(urls, folder, streams, chunks):
    """Read streams at the process that runs each and at another; return all, in pairs."""
    pairs = []
    async with asyncio.TaskGroup() as reading:
        for number in range(streams):
            here, there = urls[number % len(urls)], urls[(number + 1) % len(urls)]
            local, remote = Stream(), Stream()
            sent = message(f"count {chunks}")
            reading.create_task(local.read(here, "SendStreamingMessage", sent))
            await local.begun.wait()
            about = {"id": local.task_id}
            reading.create_task(remote.read(there, "SubscribeToTask", about))
            await remote.begun.wait()
            pairs.append((local, remote))
        (folder / "go").touch()
    return pairs


def behind(pairs):
    """Return the extra delay of each number through the other process in milliseconds."""
    return [
        (later - earlier) * 1e3
        for local, remote in pairs
        for (_, earlier), (_, later) in zip(local.numbers, remote.numbers, strict=True)
    ]


async def cancel_all(urls, folder, tries):
    """Cancel tasks through another process; return the durations in milliseconds."""
    took = []
    async with httpx.AsyncClient(timeout=60, headers=V1) as http:

        async def call(url, method, params):
            sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return (await http.post(url, json=sent)).json()["result"]

        for number in range(tries):
            here, there = urls[number % len(urls)], urls[(number + 1) % len(urls)]
            word = f"try-{number}"
            text = f"{'silent' if number % 2 else 'talk'} {word}"
            begun = await call(here, "SendMessage", message(text, returnImmediately=True))
            began = time.monotonic()
            about = {"id": begun["task"]["id"]}
            stopped = await call(there, "CancelTask", about)
            assert stopped["status"]["state"] == "TASK_STATE_CANCELED"
            took.append((await noted(folder / word) - began) * 1e3)
    return took


async def noted(file):
    """Return the time logged by an agent."""
    while True:
        if file.exists() and (text := file.read_text()):
            return float(text)
        await asyncio.sleep(0.01)


def rate(agent, workers, seconds):
    """Return the messages per second answered by a number of workers."""
    serve = [
        sys.executable,
        "-m",
        "a2a_adapters",
        "serve",
        f"tests.plugins.sql.replicas.timed:{agent}",
    ]
    options = ["--port", "0", "--workers", str(workers), "--storage", new_database()]
    with launched([*serve, *options]) as (_, url):
        port = urlsplit(url).port
        asyncio.run(load.throughput(port, 1, CONNECTIONS, load.COMPLETED))
        return asyncio.run(load.throughput(port, seconds, CONNECTIONS, load.COMPLETED))


def quantiles_of(milliseconds):
    """Format the median and the 99th percentile."""
    return f"{median(milliseconds):.1f} ms, {quantiles(milliseconds, n=100)[-1]:.1f} ms"


def measured(streams, chunks, tries, seconds):
    """Measure all; return the rows of the table."""
    rows = {}
    for name, bus in {"PostgreSQL": [], "Redis": [redis_url()]}.items():
        with tempfile.TemporaryDirectory() as work, replicas(work, 3, *bus) as urls:
            folder = Path(work)
            pairs = asyncio.run(read_all(urls, folder, streams, chunks))
            whole = sum(each.is_whole(chunks) for pair in pairs for each in pair)
            took = asyncio.run(cancel_all(urls, folder, tries))
        assert whole == 2 * streams, f"{2 * streams - whole} streams are not whole"
        rows |= {
            f"bus in {name}: complete streams, each read at both processes": (
                f"{streams} x {chunks} chunks"
            ),
            f"bus in {name}: extra delay of a chunk at the other process, {QUANTILES}": (
                quantiles_of(behind(pairs))
            ),
            f"bus in {name}: time until a cancelled agent has stopped, {tries} cancellations, "
            f"{QUANTILES}": quantiles_of(took),
        }
    for agent, doing in {
        "echo": "an echo agent",
        "compute": "an agent that computes for 5 ms",
    }.items():
        rates = [(rate(agent, 1, seconds), rate(agent, 2, seconds)) for _ in range(3)]
        one, two = (median(each) for each in zip(*rates, strict=True))
        ratio = f"{one:,.0f}, {two:,.0f} ({two / one:.2f} x)"
        rows[f"`SendMessage` per second, with one worker and with two: {doing}"] = ratio
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--chunks", type=int, default=200)
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--write", type=Path, metavar="FILE")
    said = parser.parse_args()
    rows = measured(said.streams, said.chunks, said.tries, said.seconds)
    table = "".join(f"| {name} | {value} |\n" for name, value in rows.items())
    print(table)
    if said.write:
        text = said.write.read_text()
        said.write.write_text(PLACE.sub(f"\n| measurement | result |\n|---|---|\n{table}\n", text))


if __name__ == "__main__":
    main()
