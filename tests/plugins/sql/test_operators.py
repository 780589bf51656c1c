"""`a2a-adapters tasks`: operators end and retry tasks of all callers beside running servers."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager

import pytest
from a2a_adapters_functions import adapt

from a2a_adapters import BearerTokens, Limits, ServerOptions, build_app
from a2a_adapters.cli.exits import FAILED, USAGE
from tests.plugins.sql.conftest import new_url
from tests.support.command_line import finished
from tests.support.processes import PATIENCE
from tests.support.requests import V1, client_of, say

pytestmark = pytest.mark.timeout(5 * 60)

TOKENS = {"a" * 32: "ann", "b" * 32: "bob"}


async def tasks(*arguments, code=0, url=None):
    """Run a command beside the server; return its output."""
    variables = {"A2A_ADAPTERS_STORAGE": url}
    done = await asyncio.to_thread(finished, "tasks", *arguments, variables=variables)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


class Agent:
    """Hangs in its first call and answers the next ones."""

    def __init__(self):
        self.calls = 0
        self.started = asyncio.Event()
        self.stopped = asyncio.Event()

    async def work(self, text: str):
        """Work."""
        self.calls += 1
        self.started.set()
        if self.calls == 1:
            try:
                await asyncio.Event().wait()
            finally:
                self.stopped.set()
        yield f"did {text}"


@asynccontextmanager
async def serving(agent, url, *, durable=False):
    limits = Limits(sweep_seconds=0.2, lease_seconds=4)
    options = ServerOptions(storage=url, limits=limits, authentication=BearerTokens(TOKENS))
    target = adapt(agent.work, durable=durable)
    async with client_of(build_app(target, name="worker", options=options), V1) as http:
        yield http


def authorized(token):
    return {"Authorization": f"Bearer {token * 32}"}


async def send(http, token, text):
    message = say(text, messageId=f"message-{text}")
    sent = {**message, "configuration": {"returnImmediately": True}}
    answer = await http.post("/message:send", json=sent, headers=authorized(token))
    return answer.json()["task"]["id"]


async def ended(http, token, task_id):
    """Return a task once it has ended."""
    while True:
        task = (await http.get(f"/tasks/{task_id}", headers=authorized(token))).json()
        if task["status"]["state"] in {"TASK_STATE_FAILED", "TASK_STATE_COMPLETED"}:
            return task
        await asyncio.sleep(0.05)


async def test_an_operator_sees_and_ends_a_task_of_any_caller():
    url, agent = new_url("postgresql", None), Agent()
    async with serving(agent, url) as http:
        stuck = await send(http, "a", "stuck")
        done = await send(http, "b", "done")
        await ended(http, "b", done)
        async with asyncio.timeout(PATIENCE):
            while "working" not in (line := await tasks("list", url=url)):
                pass  # the task is first stored as submitted
        assert line.count("\n") == 1
        assert line.rstrip("\n").split("\t")[:2] == [stuck, "working"]
        assert line.rstrip("\n").split("\t")[4:] == ["worker", "ann"]
        [found] = json.loads(await tasks("list", "--state", "completed", "-o", "json", url=url))
        assert (found["id"], found["owner"], found["process"]) == (done, "bob", "")
        assert await tasks("list", "--unchanged", "1h", url=url) == ""
        shown = json.loads(await tasks("show", stuck, url=url))
        assert (shown["owner"], shown["task"]["id"]) == ("ann", stuck)
        assert shown["process"].endswith(f":{os.getpid()}")
        await tasks("end", stuck, "--reason", "It hung.", url=url)
        task = await ended(http, "a", stuck)
        assert task["status"]["state"] == "TASK_STATE_FAILED"
        assert task["status"]["message"]["parts"] == [{"text": "It hung."}]
        async with asyncio.timeout(60):
            await agent.stopped.wait()
        assert "terminal state" in await tasks("end", stuck, code=USAGE, url=url)
        assert "no task" in await tasks("end", stuck, "--owner", "bob", code=FAILED, url=url)


async def test_an_operator_retries_a_hanging_task():
    url, agent = new_url("postgresql", None), Agent()
    async with serving(agent, url, durable=True) as http:
        stuck = await send(http, "a", "stuck")
        async with asyncio.timeout(PATIENCE):
            await agent.started.wait()
        await tasks("retry", stuck, url=url)
        async with asyncio.timeout(60):
            task = await ended(http, "a", stuck)
        assert task["status"]["state"] == "TASK_STATE_COMPLETED"
        assert agent.stopped.is_set()
        assert "terminal state" in await tasks("retry", stuck, code=USAGE, url=url)


async def test_a_file_is_read_beside_its_server_and_changed_without(tmp_path):
    url, agent = new_url("sqlite", tmp_path), Agent()
    async with serving(agent, url) as http:
        stuck = await send(http, "a", "stuck")
        assert stuck in await tasks("list", "--owner", "ann", url=url)
        assert "another process uses the storage" in await tasks("end", stuck, code=USAGE, url=url)
    assert "unknown state" in await tasks("list", "--state", "odd", code=USAGE, url=url)
