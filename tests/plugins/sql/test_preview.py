"""The generation of tasks (A2A 1.1 as drafted) after restarts and in other processes."""

from __future__ import annotations

import asyncio
import signal
from contextlib import asynccontextmanager

import httpx
import pytest

from a2a_adapters import Limits, ServerOptions, build_app
from a2a_adapters.runtime import generations
from tests.plugins.sql.conftest import new_url
from tests.plugins.sql.served import asks
from tests.support.preview import (
    JsonRpc,
    begun,
    generation,
    on_condition,
    reading,
    text_of,
    unique,
    until_said,
)
from tests.support.processes import launched
from tests.support.requests import client_of
from tests.support.warm import warm

AGENTS = "tests.plugins.sql.served"


@asynccontextmanager
async def serving(agent, url, *options):
    """Run `serve`; yield its process and a caller."""
    command = ["-m", "a2a_adapters", "serve", f"{AGENTS}:{agent}", "--port", "0"]
    command = warm(*command, "--preview", "1.1", "--storage", url, *options)
    with launched(command) as (process, address):
        async with httpx.AsyncClient(base_url=address, timeout=60) as http:
            yield process, JsonRpc(http)


@asynccontextmanager
async def started(url, target=asks):
    """Run a server in this process; yield a caller and its runtime."""
    limits = Limits(shutdown_seconds=0, sweep_seconds=0.1)
    app = build_app(target, options=ServerOptions(storage=url, preview="1.1", limits=limits))
    async with client_of(app) as http:
        [agent] = app.state.agents
        yield JsonRpc(http), agent.runtime


async def test_the_number_goes_on_after_a_restart(database_url):
    async with started(database_url) as (http, _):
        asked = (await http.call("SendMessage", unique("ask")))["task"]
        done = (await http.call("SendMessage", unique("red", taskId=asked["id"])))["task"]
        asked = (await http.call("SendMessage", unique("ask")))["task"]
    async with started(database_url) as (http, _):
        assert await http.call("GetTask", {"id": done["id"]}) == done
        listed = (await http.call("ListTasks", {}))["tasks"]
        assert {generation(task) for task in listed} == {generation(done), generation(asked)}
        sent = on_condition("blue", asked, generation(asked) - 1)
        assert (await http.call("SendMessage", sent))["code"] == -32010
        sent = on_condition("blue", asked, generation(asked))
        answered = (await http.call("SendMessage", sent))["task"]
        assert generation(answered) == generation(done)


async def test_tasks_of_a_server_without_the_preview_begin_with_1(database_url):
    app = build_app(asks, options=ServerOptions(storage=database_url))
    async with client_of(app) as http:
        asked = await JsonRpc(http).call("SendMessage", unique("ask"), {"A2A-Version": "1.0"})
    task_id = asked["task"]["id"]
    async with started(database_url) as (http, _):
        [listed] = (await http.call("ListTasks", {}))["tasks"]
        got = await http.call("GetTask", {"id": task_id})
        assert (generation(listed), generation(got)) == (1, 1)
        sent = on_condition("blue", got, 1)
        assert generation(await http.call("SendMessage", sent)) > 1


@pytest.mark.thorough
@pytest.mark.timeout(300)
async def test_the_number_never_goes_back_after_a_kill(database_url):
    async with serving("says", database_url) as (process, http):
        task = await begun(http, "one two three")
        seen = await until_said(http, task, "one two three ")
        process.kill()
    async with serving("says", database_url) as (_, http):
        known = {"id": task["id"], "currentGeneration": 0}
        ended = await http.call("GetTask", known)
        while ended["status"]["state"] != "TASK_STATE_FAILED":
            known["currentGeneration"] = ended["generation"]
            ended = await http.call("GetTask", known)
        # What was lost with the process is a gap.
        assert generation(ended) > generation(seen) + 1


@pytest.mark.thorough
@pytest.mark.timeout(300)
async def test_a_stopping_server_answers_its_polls(database_url):
    async with serving("asks", database_url) as (process, http):
        asked = (await http.call("SendMessage", unique("ask")))["task"]
        known = {"id": asked["id"], "currentGeneration": asked["generation"]}
        poll = asyncio.create_task(http.call("GetTask", known))
        # The next answer on another connection shows that the poll has arrived, too.
        await http.call("GetTask", {"id": asked["id"]})
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            assert await poll == asked


@pytest.fixture
def shared_url(tmp_path):
    return new_url("postgresql", tmp_path)


@pytest.mark.thorough
async def test_another_process_polls_and_follows_a_task(shared_url):
    go = asyncio.Event()

    async def says(text: str):
        yield "one "
        await go.wait()
        yield "two "
        await asyncio.Event().wait()

    async with started(shared_url, says) as (one, _), started(shared_url, says) as (other, _):
        task = await begun(one, "go")
        task = await until_said(other, task, "one ")
        async with reading(other, "SubscribeToTask", {"id": task["id"]}) as events:
            assert await anext(events) == (generation(task), {"task": task})
            known = {"id": task["id"], "currentGeneration": task["generation"]}
            poll = asyncio.create_task(other.call("GetTask", known))
            go.set()
            number, event = await anext(events)
            assert (number, text_of(event)) == (generation(task) + 1, "two ")
            assert generation(await poll) == number
        await one.call("CancelTask", {"id": task["id"]})


@pytest.mark.thorough
async def test_a_question_that_any_process_can_take_is_polled(shared_url, monkeypatch):
    monkeypatch.setattr(generations, "PAUSE_SECONDS", 0.05)
    async with started(shared_url) as (one, _), started(shared_url) as (other, _):
        asked = (await one.call("SendMessage", unique("ask")))["task"]
        known = {"id": asked["id"], "currentGeneration": asked["generation"]}
        poll = asyncio.create_task(other.call("GetTask", known))
        sent = [
            caller.call("SendMessage", on_condition(word, asked, asked["generation"]))
            for caller, word in ((one, "red"), (other, "blue"))
        ]
        answers = await asyncio.gather(*sent)
        assert sorted("task" in answer for answer in answers) == [False, True]
        [refused] = [answer for answer in answers if "task" not in answer]
        assert refused["code"] in (-32010, -32004)
        assert generation(await poll) > generation(asked)
