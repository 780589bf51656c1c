"""Callers after kills and at several processes: nobody's task or claims become another's.

A third of `SURFACE_TRIES` is the number of kills.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import psycopg
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_adapters.testing import running
from tests.attack import forgery
from tests.attack.claiming import digest
from tests.blackbox.intruder import NOT_FOUND, attempts
from tests.plugins.sql.conftest import new_url
from tests.support.processes import PATIENCE, launched
from tests.support.requests import V1, rpc, say
from tests.support.warm import warm

KILLS = int(os.environ.get("SURFACE_TRIES", "3")) // 3
PROCESSES = {"sqlite": 1, "postgresql": 2}
SECRET = "team-that-nobody-stores"
USERS = ("ann", "bob")
pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]


def badge(owner: str, number: object, **claims: object) -> dict[str, str]:
    """Return the headers of a caller, whose claims differ from those of all others."""
    token = forgery.token(sub=owner, team=f"{SECRET}-{owner}-{number}", **claims)
    return {**V1, "Authorization": f"Bearer {token}", "X-Plan": f"plan of {owner}"}


class Servers:
    """Processes with one storage, and calls to any of them."""

    def __init__(self, http: httpx.AsyncClient, keys: str, storage: str, count: int) -> None:
        self._http = http
        self._command = ["-m", "tests.attack.claiming", keys, storage]
        self._count = count
        self._running: list[tuple[object, str]] = []
        self.stack = ExitStack()

    async def start(self, names: list[str]) -> None:
        """Start all processes, with the agents in an order."""
        command = warm(*self._command, *names)
        for _ in range(self._count):
            server, url = await asyncio.to_thread(self.stack.enter_context, launched(command))
            self._running.append((server, url.partition("/agents/")[0]))

    async def kill(self) -> None:
        """Kill all processes."""
        for server, _ in self._running:
            server.send_signal(signal.SIGKILL)
            await asyncio.to_thread(server.ended)
        self._running.clear()

    @property
    def urls(self) -> list[str]:
        return [url for _, url in self._running]

    async def call(self, headers, method, params, *, agent="one", at=None):
        """Call a method at a process, any by default; return the response."""
        url = f"{at or random.choice(self.urls)}/agents/{agent}"
        return await self._http.post(url, json=rpc(method, params), headers=headers)


def text_of(task) -> str:
    parts = [part for artifact in task["artifacts"] for part in artifact["parts"]]
    return "".join(part["text"] for part in parts).removeprefix(".")


def stored(storage: str) -> bytes:
    """Return all that a storage holds."""
    if storage.startswith("sqlite:///"):
        path = Path(storage.removeprefix("sqlite:///"))
        return b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))
    with closing(psycopg.connect(storage)) as connection:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        tables = [name for (name,) in connection.execute(query)]
        rows = [
            str(row) for name in tables for row in connection.execute(f'SELECT * FROM "{name}"')
        ]
    return "".join(rows).encode()


async def trespass(servers, tasks) -> int:
    """Try each operation at each process as the other user, and at the other agent."""
    count = 0
    for owner, (task, _) in tasks.items():
        [other] = {*USERS} - {owner}
        tries = attempts(task, "shared", {"url": "http://127.0.0.1:1/", "token": "t"})
        for url in servers.urls:
            for user, agent in ((other, "one"), (owner, "two"), (other, "two")):
                headers = badge(user, "thief", org="acme", roles=["admin"])
                for method, params in tries.items():
                    answer = await servers.call(headers, method, params, agent=agent, at=url)
                    count += 1
                    if method == "ListTasks":
                        assert task not in answer.text
                    else:
                        assert answer.json()["error"]["code"] == NOT_FOUND, method
    return count


async def begin(servers, owner, number) -> tuple[str, str]:
    """Ask, and begin what hangs; all users with the same ids."""
    headers = badge(owner, number, org="acme", roles=["admin"])
    begun = []
    for text in ("ask", "hang"):
        asked = say(text, messageId=f"{text}-{number}", contextId=f"{text}-{number}")
        asked["configuration"] = {"returnImmediately": text == "hang"}
        answer = await servers.call(headers, "SendMessage", asked)
        begun.append(answer.json()["result"]["task"]["id"])
    return begun[0], begun[1]


async def check(servers, owner, number, question, hanging) -> None:
    """Answer the question with another token; the task that hung knows the owner only."""
    again = badge(owner, f"{number}-again", org="renamed")
    answer = say("go", messageId=f"answer-{number}", taskId=question)
    answered = await servers.call(again, "SendMessage", answer)
    team = digest(f"{SECRET}-{owner}-{number}-again")
    known = [owner, team, "renamed", {"x-plan": f"plan of {owner}"}, False]
    assert json.loads(text_of(answered.json()["result"]["task"])) == known
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await servers.call(again, "GetTask", {"id": hanging})
            task = found.json()["result"]
            if task["status"]["state"] == "TASK_STATE_COMPLETED":
                break
            await asyncio.sleep(0.05)
    assert json.loads(text_of(task)) == [owner, "", "", {}, False]


async def publish(_):
    return JSONResponse(forgery.KEYS)


@pytest.mark.parametrize("engine", PROCESSES)
async def test_owners_and_claims_after_kills(tmp_path, engine):
    storage, count, names = new_url(engine, tmp_path), 0, ["one", "two"]
    async with (
        running(Starlette(routes=[Route("/keys", publish)])) as provider,
        httpx.AsyncClient(timeout=60, trust_env=False) as http,
    ):
        servers = Servers(http, f"{provider}/keys", storage, PROCESSES[engine])
        with servers.stack:
            await servers.start(names)
            for number in range(KILLS):
                begun = await asyncio.gather(*[begin(servers, owner, number) for owner in USERS])
                tasks = dict(zip(USERS, begun, strict=True))
                count += await trespass(servers, tasks)
                await servers.kill()
                names.reverse()
                await servers.start(names)
                count += await trespass(servers, tasks)
                await asyncio.gather(*[check(servers, n, number, *tasks[n]) for n in USERS])
                count += await trespass(servers, tasks)
    kept = stored(storage)
    assert b"hang-0" in kept
    assert SECRET.encode() not in kept
    print(f"claims after {KILLS} kills ({engine}): {count} tries")  # noqa: T201 - for the table
