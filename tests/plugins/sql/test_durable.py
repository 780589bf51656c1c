"""After a kill, a durable function is replayed with its earlier answers."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from tests.plugins.sql.test_resume import Caller, reason, texts
from tests.support.processes import launched
from tests.support.warm import warm

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def command(database_url, tmp_path):
    return warm("-m", "tests.plugins.sql.served_durable", database_url, str(tmp_path))


def caller(url, agent="book"):
    """Return a caller of one of the server's agents."""
    return Caller(f"{url.partition('/agents')[0]}/agents/{agent}")


@asynccontextmanager
async def called(command, agent="book"):
    """Run the server; yield its process and a caller of one of its agents."""
    with launched(command) as (process, url):
        async with caller(url, agent) as http:
            yield process, http


def log(tmp_path):
    return (tmp_path / "log").read_text().splitlines()


def asked(task):
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    return reason(task)


@pytest.mark.parametrize("agent", ["book", "by-thread"])
async def test_two_callers_continue_after_a_kill(command, tmp_path, agent):
    async with called(command, agent) as (process, http):
        tasks = await asyncio.gather(
            *(http.send(name, wait=True, context=name) for name in ("ann", "bob"))
        )
        for task, city in zip(tasks, ("Rome", "Oslo"), strict=True):
            await http.send(city, task=task["id"], wait=True, context="")
        process.kill()
    async with called(command, agent) as (_, http):
        done = await asyncio.gather(
            *(http.send("Monday", task=task["id"], wait=True, context="") for task in tasks)
        )
    if agent == "by-thread":
        assert [texts(task) for task in done] == [["ann: Rome on Monday"], ["bob: Oslo on Monday"]]
        return
    chunks = ["Well, ", "nice. "]
    assert [texts(task) for task in done] == [
        [*chunks, "ann: Rome on Monday"],
        [*chunks, "bob: Oslo on Monday"],
    ]
    begun = [line for line in log(tmp_path) if line.startswith("begun ann")]
    assert begun == ["begun ann {'beside': 2.5, 'inside': 1} []"] * 2


async def test_without_a_kill_nothing_is_replayed(command, tmp_path):
    async with called(command) as (_, http):
        task = await http.send("ann", wait=True)
        assert asked(task) == "Where to?"
        task = await http.send("Rome", task=task["id"], wait=True)
        assert asked(task) == "When to Rome?"
        await http.send("Monday", task=task["id"], wait=True)
    assert [line.split()[0] for line in log(tmp_path)] == ["begun", "city", "day"]


async def test_a_changed_question_fails_clearly(command, tmp_path):
    async with called(command) as (process, http):
        task = await http.send("ann", wait=True)
        task = await http.send("Rome", task=task["id"], wait=True)
        process.kill()
    (tmp_path / "changed").touch()
    async with called(command) as (_, http):
        task = await http.send("Monday", task=task["id"], wait=True)
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert "no longer asks the same question" in reason(task)


async def test_a_replay_gets_the_same_history(command, tmp_path):
    async with called(command) as (process, http):
        tasks = [await http.send(name, wait=True) for name in ("eve", "ann", "zoe")]
        asked(await http.send("Rome", task=tasks[1]["id"], wait=True, context=""))
        process.kill()
    async with called(command) as (_, http):
        await http.send("Monday", task=tasks[1]["id"], wait=True, context="")
    known = [word for name in ("eve", "ann", "zoe") for word in (name, "Well, \nWhere to?")]
    of_ann = [line for line in log(tmp_path) if line.startswith(("begun ann", "city Rome"))]
    assert [line.partition("[")[2] for line in of_ann] == [
        f"{chunks}"[1:] for chunks in 2 * [known[:2], known]
    ]
