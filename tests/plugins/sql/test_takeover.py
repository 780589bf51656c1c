"""Takeover of tasks of dead processes, also from a slow database."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar

import psycopg
import pytest
from a2a.server.context import ServerCallContext
from a2a.types import CancelTaskRequest, GetTaskRequest, ListTasksRequest, TaskState
from a2a_adapters_sql.operators import find_tasks, hand_over_task
from a2a_adapters_sql.storage import SqlAgentStorage

from a2a_adapters import Limits, TextDelta, as_executor
from a2a_adapters.plugin import Adapter, AgentDescription
from a2a_adapters.protocol.card import build_card
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.runtime import Runtime
from tests.plugins.sql.conftest import new_url, opened
from tests.plugins.sql.test_contract import MISSING, store_of, task
from tests.plugins.sql.test_database import end_lease
from tests.plugins.sql.test_messages import message

CALLER = ServerCallContext()
COMPLETED, WORKING = TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_WORKING
FAILED = TaskState.TASK_STATE_FAILED

WHOSE = ContextVar("whose", default="")
"""What a caller's request leaves for its runs, as the baggage of a trace."""

pytestmark = pytest.mark.timeout(300)


class Slow(Adapter):
    """Sends "one ", and "two" when allowed; resumable."""

    resumes = True

    def __init__(self):
        self.may_go_on, self.has_begun = asyncio.Event(), asyncio.Event()
        self.calls, self.whose = [], []
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
        self.whose.append(WHOSE.get())
        yield TextDelta("one ")
        self.has_begun.set()
        await self.may_go_on.wait()
        yield TextDelta("two")


def served(storage, **limits):
    """Return the agent and its runtime on a storage."""
    adapter = Slow()
    card = build_card(adapter.describe(), "http://x")
    limits = Limits(**{"shutdown_seconds": 0, "sweep_seconds": 0.05, **limits})
    return adapter, Runtime(as_executor(adapter), card, storage=storage.of("slow"), limits=limits)


@contextmanager
def locked(url, table):
    """Lock a table, or the whole SQLite file, against writes."""
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
    """Shorten the waits for the storage."""
    monkeypatch.setattr("a2a_adapters_sql.storage.PATIENCE_SECONDS", 0.3)


async def leave(url):
    """Leave a running task like a killed process."""
    async with opened(url) as gone:
        await store_of(gone).put(task("working", WORKING), "ann", MISSING, ["config"])
        await end_lease(gone)


@pytest.mark.parametrize(
    ("table", "look"), [("a2a_tasks", "left_behind"), ("a2a_push_outbox", "undelivered")]
)
async def test_a_late_takeover_is_returned_next_time(database_url, table, look, impatient):
    await leave(database_url)
    async with opened(database_url) as heir:
        ask = getattr(heir.of("poet"), look)
        with locked(database_url, table):
            for _ in range(3):
                with pytest.raises(StorageUnavailableError):
                    await ask()
        assert len(await until_reported(ask)) == 1
        assert list(await until_reported(ask)) == []


async def test_a_takeover_for_a_cancelled_caller_is_returned_to_the_next(database_url):
    await leave(database_url)
    async with opened(database_url) as heir:
        ask = heir.of("poet").left_behind
        with locked(database_url, "a2a_tasks"):
            asking = asyncio.ensure_future(ask())
            await asyncio.wait([asking], timeout=0.1)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        assert len(await until_reported(ask)) == 1


async def test_a_waiting_takeover_fails_when_the_storage_closes(database_url, monkeypatch):
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


async def test_a_failed_takeover_without_callers_is_not_an_unretrieved_error(database_url, caplog):
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


async def until_reported(ask):
    async with asyncio.timeout(60):
        while True:
            try:
                return await ask()
            except StorageUnavailableError:
                continue


async def kill(storage):
    """Stop all writes and expire the lease."""
    await storage.database.commits.aclose(1)
    await end_lease(storage)


@asynccontextmanager
async def process(url, **limits):
    """Run a process on a storage; yield its storage, agent and runtime."""
    async with opened(url) as storage:
        adapter, runtime = served(storage, **limits)
        yield storage, adapter, runtime
        await runtime.aclose()


async def begun(adapter, runtime, message_id="message-1"):
    """Start a task; return its id."""
    adapter.has_begun.clear()
    request = message(message_id=message_id)
    request.configuration.return_immediately = True
    task_id = (await runtime.on_message_send(request, CALLER)).id
    await adapter.has_begun.wait()
    return task_id


async def begin(url):
    """Start a task in a process that is then killed; return its id."""
    async with process(url) as (gone, adapter, runtime):
        task_id = await begun(adapter, runtime)
        await kill(gone)
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


async def test_a_server_started_during_a_lock_recovers_later(database_url, impatient):
    task_id = await begin(database_url)
    async with process(database_url) as (_, adapter, runtime):
        adapter.may_go_on.set()
        with locked(database_url, "a2a_tasks"):
            await runtime.start()
            assert adapter.calls == []
        await until_completed(runtime, task_id)
    assert adapter.calls == ["resume"]


async def test_a_failed_recovery_is_retried_by_the_next_sweep(
    database_url, impatient, monkeypatch, caplog
):
    task_id = await begin(database_url)
    async with process(database_url) as (_, adapter, runtime):
        adapter.may_go_on.set()
        read, failures = SqlAgentStorage.read_state, ["first", "second"]

        async def read_later(*place):
            if failures:
                raise OSError(failures.pop(0))
            return await read(*place)

        monkeypatch.setattr(SqlAgentStorage, "read_state", read_later)
        await runtime.start()
        await until_completed(runtime, task_id)
    assert adapter.calls == ["resume"]
    assert caplog.text.count("cannot be recovered yet") == 2


async def test_waiting_callers_learn_that_another_process_took_the_task(tmp_path):
    url = new_url("postgresql", tmp_path)
    async with process(url) as (slow, adapter, runtime), process(url) as (_, heirs, heir):
        waiting = asyncio.ensure_future(runtime.on_message_send(message(), CALLER))
        await adapter.has_begun.wait()
        await end_lease(slow)
        heirs.may_go_on.set()
        await heir.start()
        adapter.may_go_on.set()
        with pytest.raises(StorageUnavailableError):
            await waiting
        again = await heir.on_message_send(message(), CALLER)
        assert again.status.state == COMPLETED
        assert [part.text for a in again.artifacts for part in a.parts] == ["one two"]


async def test_a_resumed_run_inherits_nothing_of_the_request_that_finds_it(tmp_path):
    url = new_url("postgresql", tmp_path)
    async with (
        process(url) as (slow, adapter, runtime),
        process(url, sweep_seconds=7200) as (_, heirs, heir),
    ):
        await heir.start()
        found = [await begun(adapter, runtime, name) for name in ("message-1", "message-2")]
        await end_lease(slow, only=True)
        WHOSE.set("the caller's")
        await heir.on_cancel_task(CancelTaskRequest(id=found[1]), CALLER)
        await heirs.has_begun.wait()
        heirs.may_go_on.set()
    assert {*heirs.whose} == {""}


@pytest.mark.parametrize("is_saved", [False, True])
async def test_a_process_resumes_a_task_released_by_an_operator(tmp_path, is_saved):
    """If the process saves the task in between, it already knows of the release."""
    async with process(new_url("postgresql", tmp_path)) as (storage, adapter, runtime):
        task_id = await begun(adapter, runtime)
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
    assert adapter.calls == ["stream", "resume"]


async def test_a_task_outlives_any_number_of_restarts(database_url):
    calls = []
    for number in range(6):
        async with process(database_url) as (_, adapter, runtime):
            await runtime.start()
            if number == 0:
                task_id = await begun(adapter, runtime)
            await adapter.has_begun.wait()
            if number == 5:
                adapter.may_go_on.set()
                await until_completed(runtime, task_id)
        calls += adapter.calls
    assert calls == ["stream"] + 5 * ["resume"]


async def died(url, *, often, has_effect, **limits):
    """Let processes take over a task and die."""
    for _ in range(often):
        async with process(url, **limits) as (storage, adapter, runtime):
            adapter.has_effect = has_effect
            await runtime.start()
            await adapter.has_begun.wait()
            await kill(storage)


async def test_deaths_before_any_effect_do_not_end_a_task(database_url):
    task_id = await begin(database_url)
    await died(database_url, often=5, has_effect=False)
    async with process(database_url) as (_, adapter, runtime):
        adapter.may_go_on.set()
        await runtime.start()
        await until_completed(runtime, task_id)


@pytest.mark.parametrize(
    ("deaths", "has_effect", "limits"),
    [
        (0, True, {"recovery_attempts": 0}),
        (1, True, {"recovery_attempts": 1}),
        (3, True, {"recovery_attempts": 3}),
        (3, False, {}),
    ],
    ids=["at once", "after one", "after three", "before any effect"],
)
async def test_a_task_that_killed_its_processes_is_given_up(
    database_url, monkeypatch, deaths, has_effect, limits
):
    if not has_effect:  # this limit is not an option, and takes long to reach
        monkeypatch.setattr("a2a_adapters_sql.recovery._MOST_TAKEOVERS", 3)
    task_id = await begin(database_url)
    await died(database_url, often=deaths, has_effect=has_effect, **limits)
    async with process(database_url, **limits) as (_, _, runtime):
        await runtime.start()
        assert await state_of(runtime, task_id) == FAILED
