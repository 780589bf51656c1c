"""What a process that is gone has left is taken over, also from a database that is slow then."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
from contextlib import asynccontextmanager, contextmanager, suppress

import psycopg
import pytest
from a2a.server.context import ServerCallContext
from a2a.types import GetTaskRequest, ListTasksRequest, TaskState
from a2a_adapters_sql.operators import find_tasks, hand_over_task
from a2a_adapters_sql.storage import SqlAgentStorage

from a2a_adapters import Adapter, AgentDescription, Limits, TextDelta, as_executor
from a2a_adapters.protocol.card import build_card
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.runtime import Runtime
from tests.plugins.sql.conftest import new_url, storage_at
from tests.plugins.sql.test_contract import MISSING, store_of, task
from tests.plugins.sql.test_database import end_lease
from tests.plugins.sql.test_messages import message

CALLER = ServerCallContext()
COMPLETED, WORKING = TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_WORKING
FAILED = TaskState.TASK_STATE_FAILED

pytestmark = pytest.mark.timeout(300)


class Slow(Adapter):
    """Says "one ", and "two" as soon as it may; it can go on with what others have begun."""

    resumes = True

    def __init__(self):
        self.may_go_on, self.has_begun = asyncio.Event(), asyncio.Event()
        self.calls = []
        self.has_effect = True

    def describe(self):
        return AgentDescription(name="slow", description="Takes its time.")

    def stream(self, request):
        return self._run("stream")

    def resume(self, request):
        return self._run("resume")

    async def had_effect(self, request):
        return self.has_effect

    async def _run(self, how):
        self.calls.append(how)
        yield TextDelta("one ")
        self.has_begun.set()
        await self.may_go_on.wait()
        yield TextDelta("two")


def served(storage, **limits):
    """Return the agent, and the runtime that serves it from a storage."""
    adapter = Slow()
    card = build_card(adapter.describe(), "http://x")
    limits = Limits(shutdown_seconds=0, sweep_seconds=0.05, **limits)
    return adapter, Runtime(as_executor(adapter), card, storage=storage.of("slow"), limits=limits)


@asynccontextmanager
async def opened(url):
    storage = storage_at(url)
    await storage.start()
    yield storage
    await storage.aclose(1)


@contextmanager
def locked(url, table):
    """Keep everybody from writing to a table; a SQLite file is locked as a whole."""
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")
        other.close()
    else:
        with psycopg.connect(url) as other:
            other.execute(f"LOCK TABLE {table} IN SHARE MODE")
            yield
            other.rollback()


@pytest.fixture
def impatient(monkeypatch):
    """Let nobody wait for the storage for long."""
    monkeypatch.setattr("a2a_adapters_sql.outlasting.PATIENCE_SECONDS", 0.3)


async def leave(url):
    """Leave a task that is being worked on, as a process does that is killed."""
    async with opened(url) as gone:
        await store_of(gone).put(task("working", WORKING), "ann", MISSING, ["config"])
        await end_lease(gone)


@pytest.mark.parametrize(
    ("table", "look"), [("a2a_tasks", "left_behind"), ("a2a_push_outbox", "undelivered")]
)
async def test_what_is_taken_over_too_late_is_told_next_time(database_url, table, look, impatient):
    await leave(database_url)
    async with opened(database_url) as heir:
        ask = getattr(heir.of("poet"), look)
        with locked(database_url, table):
            for _ in range(3):
                with pytest.raises(StorageUnavailableError):
                    await ask()
        assert len(await until_told(ask)) == 1
        assert list(await until_told(ask)) == []


async def test_what_is_taken_over_for_a_caller_who_has_gone_is_told_the_next_one(database_url):
    await leave(database_url)
    async with opened(database_url) as heir:
        ask = heir.of("poet").left_behind
        with locked(database_url, "a2a_tasks"):
            asking = asyncio.ensure_future(ask())
            await asyncio.wait([asking], timeout=0.1)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        assert len(await until_told(ask)) == 1


async def test_who_waits_for_a_takeover_when_the_storage_is_closed_is_told_so(
    database_url, monkeypatch
):
    async with opened(database_url) as heir:
        commits, has_begun = heir.database.commits, asyncio.Event()

        async def hang(_writes):
            has_begun.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(commits, "_transaction", hang)
        writing = asyncio.ensure_future(heir.of("poet").write_state("ann", "c", "kind", b"x"))
        await has_begun.wait()
        asking = asyncio.ensure_future(heir.of("poet").left_behind())
        await asyncio.wait([asking], timeout=0.1)
        await commits.aclose(0)
        with pytest.raises(StorageUnavailableError):
            await asking
        writing.cancel()


async def test_a_takeover_that_fails_with_nobody_there_is_no_lost_error(database_url, caplog):
    await leave(database_url)
    async with opened(database_url) as heir:
        await heir.database.commits.aclose(1)
        asking = asyncio.ensure_future(heir.of("poet").left_behind())
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        del asking
    gc.collect()
    assert "never retrieved" not in caplog.text


async def until_told(ask):
    async with asyncio.timeout(60):
        while True:
            try:
                return await ask()
            except StorageUnavailableError:
                continue


async def killed(storage, runtime):
    """Leave everything as it is, and let the time pass for which the process counts as alive."""
    await storage.database.commits.aclose(1)  # nothing is written any more
    await end_lease(storage)
    await runtime.aclose()


async def begin(url):
    """Begin a task in a process that is killed then; return its id."""
    async with opened(url) as gone:
        adapter, runtime = served(gone)
        request = message()
        request.configuration.return_immediately = True
        task_id = (await runtime.on_message_send(request, CALLER)).id
        await adapter.has_begun.wait()
        await killed(gone, runtime)
    return task_id


async def state_of(runtime, task_id):
    with suppress(StorageUnavailableError):
        return (await runtime.on_get_task(GetTaskRequest(id=task_id), CALLER)).status.state


async def until_completed(runtime, task_id):
    async with asyncio.timeout(60):
        while True:
            if await state_of(runtime, task_id) == COMPLETED:
                return
            await asyncio.sleep(0.05)


async def test_a_server_that_starts_while_the_database_is_held_goes_on_later(
    database_url, impatient
):
    task_id = await begin(database_url)
    async with opened(database_url) as storage:
        adapter, runtime = served(storage)
        adapter.may_go_on.set()
        with locked(database_url, "a2a_tasks"):
            await runtime.start()
            assert adapter.calls == []
        await until_completed(runtime, task_id)
        await runtime.aclose()
    assert adapter.calls == ["resume"]


async def test_what_cannot_be_taken_up_now_is_by_the_next_sweep(
    database_url, impatient, monkeypatch, caplog
):
    task_id = await begin(database_url)
    async with opened(database_url) as storage:
        adapter, runtime = served(storage)
        adapter.may_go_on.set()
        read, failures = SqlAgentStorage.read_state, ["first", "second"]

        async def read_later(*place):
            if failures:
                raise OSError(failures.pop(0))
            return await read(*place)

        monkeypatch.setattr(SqlAgentStorage, "read_state", read_later)
        await runtime.start()
        await until_completed(runtime, task_id)
        await runtime.aclose()
    assert adapter.calls == ["resume"]
    assert caplog.text.count("cannot be recovered yet") == 2


async def test_who_waits_for_a_task_that_another_process_took_is_told_so(tmp_path):
    url = new_url("postgresql", tmp_path)
    async with opened(url) as slow, opened(url) as other:
        adapter, runtime = served(slow)
        waiting = asyncio.ensure_future(runtime.on_message_send(message(), CALLER))
        await adapter.has_begun.wait()
        await end_lease(slow)
        heirs, heir = served(other)
        heirs.may_go_on.set()
        await heir.start()
        adapter.may_go_on.set()
        with pytest.raises(StorageUnavailableError):
            await waiting
        again = await heir.on_message_send(message(), CALLER)
        assert again.status.state == COMPLETED
        assert [part.text for a in again.artifacts for part in a.parts] == ["one two"]
        await runtime.aclose()
        await heir.aclose()


@pytest.mark.parametrize("is_saved", [False, True])
async def test_a_process_resumes_a_task_that_an_operator_takes_from_it(tmp_path, is_saved):
    """If the process saves the task in between, it already knows that the task is lost."""
    async with opened(new_url("postgresql", tmp_path)) as storage:
        adapter, runtime = served(storage)
        request = message()
        request.configuration.return_immediately = True
        task_id = (await runtime.on_message_send(request, CALLER)).id
        await adapter.has_begun.wait()
        [kept] = await find_tasks(storage.database)
        await hand_over_task(storage, kept)
        adapter.has_begun.clear()
        if is_saved:
            await runtime.on_list_tasks(ListTasksRequest(), CALLER)
        await runtime.start()
        async with asyncio.timeout(30):
            await adapter.has_begun.wait()
        adapter.may_go_on.set()
        await until_completed(runtime, task_id)
        await runtime.aclose()
    assert adapter.calls == ["stream", "resume"]


async def test_a_task_outlives_any_number_of_restarts(database_url):
    calls = []
    for number in range(6):
        async with opened(database_url) as storage:
            adapter, runtime = served(storage)
            await runtime.start()
            if number == 0:
                request = message()
                request.configuration.return_immediately = True
                task_id = (await runtime.on_message_send(request, CALLER)).id
            await adapter.has_begun.wait()
            if number == 5:
                adapter.may_go_on.set()
                await until_completed(runtime, task_id)
            await runtime.aclose()
            calls += adapter.calls
    assert calls == ["stream"] + 5 * ["resume"]


async def died(url, *, often):
    """Have processes take a task over that die with it, without any effect."""
    for _ in range(often):
        async with opened(url) as storage:
            adapter, runtime = served(storage)
            adapter.has_effect = False
            await runtime.start()
            await adapter.has_begun.wait()
            await killed(storage, runtime)


async def test_deaths_before_any_effect_do_not_end_a_task(database_url):
    task_id = await begin(database_url)
    await died(database_url, often=5)
    async with opened(database_url) as storage:
        adapter, runtime = served(storage)
        adapter.may_go_on.set()
        await runtime.start()
        await until_completed(runtime, task_id)
        await runtime.aclose()


async def test_a_task_that_only_ever_ends_its_processes_is_given_up(database_url, monkeypatch):
    # There is no other way: the limit is no option, and it takes long to reach.
    monkeypatch.setattr("a2a_adapters_sql.recovery._MOST_TAKEOVERS", 3)
    task_id = await begin(database_url)
    await died(database_url, often=3)
    async with opened(database_url) as storage:
        _, runtime = served(storage)
        await runtime.start()
        assert await state_of(runtime, task_id) == FAILED
        await runtime.aclose()


@pytest.mark.parametrize("attempts", [0, 1, 3])
async def test_a_task_that_ended_its_processes_is_given_up(database_url, attempts):
    task_id = await begin(database_url)
    for _ in range(attempts):
        async with opened(database_url) as storage:
            adapter, runtime = served(storage, recovery_attempts=attempts)
            await runtime.start()
            await adapter.has_begun.wait()
            await killed(storage, runtime)
    async with opened(database_url) as storage:
        _, runtime = served(storage, recovery_attempts=attempts)
        await runtime.start()
        assert await state_of(runtime, task_id) == FAILED
        await runtime.aclose()
