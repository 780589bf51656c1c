"""Stop the database or lock its table of processes, and count lost tasks of live processes.

python -m tests.plugins.sql.replicas.outages --first 5 --last 30
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import psycopg

from a2a_adapters.protocol import states
from tests.plugins.sql.replicas.chaos import ENDED, HEADERS, REPLICAS
from tests.support.postgresql import new_database_at, server_of_its_own
from tests.support.processes import launched
from tests.support.warm import warm

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

KINDS = ("stop", "lock")
COUNTS = 2
"""Resumable tasks per process; each has another one that cannot be resumed."""


class Outages:
    """Processes that run tasks through repeated database outages.

    Args:
        folder: An empty folder.
        lease: Seconds of a lease.
    """

    def __init__(self, folder: Path, lease: float) -> None:
        self._folder = folder
        self._lease = lease
        self._server = server_of_its_own()
        self._url = new_database_at(self._server)
        self._homes: dict[str, str] = {}

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Outages]:
        """Run the processes with their tasks, and end them."""
        command = warm("-m", "tests.plugins.sql.replicas.served", self._url, str(self._folder))
        async with AsyncExitStack() as stack:
            stack.callback(self._server.stop)
            self._http = httpx.AsyncClient(headers=HEADERS, timeout=60)
            await stack.enter_async_context(self._http)
            started = [launched([*command, str(self._lease)]) for _ in range(REPLICAS)]
            self._urls = [stack.enter_context(each)[1] for each in started]
            for url in self._urls:
                for work in [*["count"] * COUNTS, "tick"]:
                    await self._begin(url, work)
            while True:
                if len(self._begun()) == len(self._homes):
                    break
                await asyncio.sleep(0.05)
            yield self

    async def lost(self, kind: str, seconds: float) -> int:
        """Cause an outage; return the number of tasks lost by live processes."""
        await self._renewed()
        before = await self._lost()
        if kind == "stop":
            await asyncio.to_thread(self._server.stop)
            await asyncio.sleep(seconds)
            await asyncio.to_thread(self._server.ensure_postgres_running)
        else:
            async with await psycopg.AsyncConnection.connect(self._url) as connection:
                await connection.execute("LOCK TABLE a2a_processes IN ACCESS EXCLUSIVE MODE")
                await asyncio.sleep(seconds)
        await self._renewed()  # from then on leases expire normally
        return await self._lost() - before

    async def finished(self) -> set[str]:
        """Let the tasks end; return their texts."""
        (self._folder / "go").touch()
        return {await self._said(task) for task in self._homes if self._homes[task] == "count"}

    async def _begin(self, url: str, work: str) -> None:
        message = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": work}]}
        params = {"message": message, "configuration": {"returnImmediately": True}}
        self._homes[(await self._call(url, "SendMessage", params))["task"]["id"]] = work

    async def _call(self, url: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        while True:
            answer = (await self._http.post(url, json=call)).json()
            if "result" in answer:
                result: dict[str, Any] = answer["result"]
                return result
            await asyncio.sleep(0.2)  # not reachable yet

    async def _said(self, task_id: str) -> str:
        while True:
            task = await self._call(self._urls[0], "GetTask", {"id": task_id})
            if task["status"]["state"] in ENDED:
                return "".join(
                    part["text"] for a in task.get("artifacts", []) for part in a["parts"]
                )
            await asyncio.sleep(0.1)

    def _begun(self) -> list[str]:
        """Return the process of each started task."""
        log = self._folder / "log"
        noted = log.read_text().splitlines() if log.exists() else []
        counts = [line for line in noted if line.startswith("count")]
        return counts + list({line for line in noted if line.startswith("tick")})

    async def _lost(self) -> int:
        """Return the number of takeovers plus the number of ended tasks."""
        query = "SELECT sum(epoch) + count(*) FILTER (WHERE state <> %s) FROM a2a_tasks"
        async with await psycopg.AsyncConnection.connect(self._url) as connection:
            found = await connection.execute(query, [int(states.WORKING)])
            row = await found.fetchone()
        assert row is not None
        return int(row[0])

    async def _renewed(self) -> None:
        """Wait until each process has renewed its lease and swept."""
        query = "SELECT count(*) FROM a2a_processes WHERE lease_until > %s"
        async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as connection:
            found = await connection.execute("SELECT extract(epoch FROM clock_timestamp())")
            row = await found.fetchone()
            assert row is not None
            due = float(row[0]) + 1.5 * self._lease
            while True:
                if await (await connection.execute(query, [due])).fetchone() == (REPLICAS,):
                    return
                await asyncio.sleep(0.1)


async def compared(first: int, last: int, lease: float) -> int:
    """Print the losses for each length of outage; return their sum."""
    lost = 0
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as name:
            async with Outages(Path(name), lease).running() as outages:
                for seconds in range(first, last + 1):
                    count = await outages.lost(kind, seconds)
                    lost += count
                    print(f"{kind} for {seconds} s: {count} lost", flush=True)  # noqa: T201
                print(f"{kind}: then observed {await outages.finished()}", flush=True)  # noqa: T201
    return lost


def main() -> None:
    """Print the figures, and fail if a task was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=5, help="seconds of the shortest outage")
    parser.add_argument("--last", type=int, default=30, help="seconds of the longest")
    parser.add_argument("--lease", type=float, default=10, help="seconds")
    arguments = parser.parse_args()
    sys.exit(bool(asyncio.run(compared(arguments.first, arguments.last, arguments.lease))))


if __name__ == "__main__":
    main()
