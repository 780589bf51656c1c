"""Workflows whose processes are killed complete, and repeat no finished step."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
from contextlib import ExitStack, contextmanager

import pytest

from a2a_adapters.testing import ResumeContract
from tests.plugins.sql.test_resume import Caller, texts
from tests.support.processes import launched
from tests.support.warm import warm

SERVED = "tests.plugins.dbos.served"


def command(kind, storage, database, executor, work):
    return warm("-m", SERVED, kind, storage, database, executor, str(work))


class TestSameExecutor(ResumeContract):
    """DBOS resumes the workflow when it is launched."""

    def command(self, storage, work):
        return command("work", storage, f"sqlite:///{work}/dbos.db", "one", work)


class TestOtherExecutor(ResumeContract):
    """DBOS leaves the workflow alone, and the adapter resumes it."""

    _numbers = itertools.count()

    def command(self, storage, work):
        executor = f"executor-{next(self._numbers)}"
        return command("work", storage, f"sqlite:///{work}/dbos.db", executor, work)


@pytest.mark.parametrize("executors", ["same", "other"])
async def test_a_question_outlives_its_process(tmp_path, executors):
    storage, database = f"sqlite:///{tmp_path}/agents.db", f"sqlite:///{tmp_path}/dbos.db"
    task_id, states = "", []
    for number, text in enumerate(("book", "Paris", "Monday")):
        executor = f"executor-{number}" if executors == "other" else "one"
        called = command("book", storage, database, executor, tmp_path)
        with launched(called) as (process, url):
            async with Caller(url) as caller:
                task = await caller.send(text, wait=True, task=task_id)
            task_id = task["id"]
            states.append(task["status"]["state"])
            process.kill()
    assert states == ["TASK_STATE_INPUT_REQUIRED"] * 2 + ["TASK_STATE_COMPLETED"]
    assert texts(task) == ["Well, one ", "book: Paris on Monday"]
    assert (tmp_path / "steps").read_text().split() == ["book"]
    assert (tmp_path / "booked").read_text().split() == ["Paris"]


@contextmanager
def worker(*arguments):
    process = subprocess.Popen(command("worker", *arguments))
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.thorough
async def test_fronts_and_workers_are_killed_while_they_wait_and_work(tmp_path):
    from tests.support.postgresql import new_database

    database = new_database()
    storage, engine = database, database.replace("postgresql:", "postgresql+psycopg:")

    def front(name):
        return launched(command("front", storage, engine, name, tmp_path))

    with ExitStack() as stack:
        killed, first = stack.enter_context(front("front-1"))
        _, second = stack.enter_context(front("front-2"))
        async with Caller(first) as caller:
            with worker(storage, engine, "worker-1", tmp_path):
                task = await caller.send("go", wait=True)  # it waits
        killed.kill()
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        async with Caller(second) as caller:
            with worker(storage, engine, "worker-1", tmp_path):
                await caller.send("yes", task=task["id"])
                while not (tmp_path / "begun").exists():  # noqa: ASYNC110 - of another process
                    await asyncio.sleep(0.05)
            (tmp_path / "go").touch()
            with worker(storage, engine, "worker-1", tmp_path):
                done = await caller.ended(task["id"])
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    assert texts(done) == ["one two"]
    assert (tmp_path / "steps").read_text().split() == ["go"]
