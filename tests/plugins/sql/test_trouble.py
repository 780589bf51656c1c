"""Outages of the storage, and timeouts that do not count time of a blocked event loop."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from contextlib import closing

import pytest
from a2a.server.context import ServerCallContext
from a2a.types import GetTaskRequest, ListTasksRequest, Task, TaskState, TaskStatusUpdateEvent
from a2a_adapters_sql.alarm import Alarm, fair_timeout
from a2a_adapters_sql.commit import Write
from a2a_adapters_sql.tasks import SqlPage
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.storage.interface import PATIENCE_SECONDS
from tests.plugins.sql.conftest import before_statements, opened
from tests.plugins.sql.test_contract import store_of
from tests.plugins.sql.test_messages import message, runtime_of

pytestmark = pytest.mark.timeout(5 * 60)

CALLER = ServerCallContext()
COMPLETED = TaskState.TASK_STATE_COMPLETED


class Outage:
    """Makes every statement fail as with a full disk."""

    def __init__(self, storage):
        self.is_on = False
        self.statements = 0
        before_statements(storage.database, self.before)

    def before(self, *_):
        self.statements += 1
        if self.is_on:
            raise OperationalError("statement", {}, Exception("database or disk is full"))


@pytest.fixture
async def storage(database_url):
    async with opened(database_url) as storage:
        yield storage


class Look(Write):
    """Finds nothing to change."""

    key = ("look",)

    async def execute_one(self, connection):
        return (await connection.execute(text("SELECT 1"))).scalar()


async def test_a_locked_file_is_away_even_for_writes_that_find_nothing_to_change(tmp_path):
    async with opened(f"sqlite:///{tmp_path}/agents.db") as storage:
        database = storage.database
        with closing(sqlite3.connect(tmp_path / "agents.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            database.health.suspect("it is locked")
            with pytest.raises(StorageUnavailableError):
                await database.write(Look(), 0.1)
            assert database.away == "storage"
            other.execute("ROLLBACK")
        assert await database.write(Look()) == 1
        assert database.away == ""


async def test_a_full_disk_is_refused_at_once(storage):
    def work(text: str) -> str:
        return text

    runtime = runtime_of(work, storage)
    outage = Outage(storage)
    outage.is_on = True
    began = time.monotonic()
    for number in range(5):
        with pytest.raises(StorageUnavailableError):
            await runtime.on_message_send(message(str(number), uuid(number)), CALLER)
    assert time.monotonic() - began < PATIENCE_SECONDS
    assert storage.away == "storage"
    outage.is_on = False
    answered = await runtime.on_message_send(message("x", uuid(9)), CALLER)
    assert answered.status.state == COMPLETED


async def test_messages_are_refused_and_nothing_starts(storage, caplog):
    calls = []

    def work(text: str) -> str:
        calls.append(text)
        return text

    runtime = runtime_of(work, storage)
    outage = Outage(storage)
    outage.is_on = True
    with caplog.at_level(logging.ERROR):
        results = await asyncio.gather(
            *(runtime.on_message_send(message(str(n), uuid(n)), CALLER) for n in range(10)),
            return_exceptions=True,
        )
    assert {type(error) for error in results} == {StorageUnavailableError}
    assert calls == []
    assert not storage.is_ready
    away = [record for record in caplog.records if "is unavailable" in record.getMessage()]
    assert len(away) == 1
    outage.is_on = False
    task = await runtime.on_message_send(message("0", uuid(0)), CALLER)
    assert task.status.state == COMPLETED
    assert storage.is_ready
    assert calls == ["0"]
    await runtime.aclose()


async def test_a_stalled_loop_is_not_an_outage(storage, monkeypatch):
    loop, stood = asyncio.get_running_loop(), 0.0
    now = loop.time()
    monkeypatch.setattr(loop, "time", lambda: now + stood)
    reading = asyncio.ensure_future(storage.database.read(text("SELECT 1")))
    saving = asyncio.ensure_future(store_of(storage).delete("unknown", CALLER))
    await asyncio.sleep(0)
    stood = 60.0
    assert [tuple(row) for row in await reading] == [(1,)]
    await saving


async def test_a_stalled_loop_raises_no_alarm(storage, monkeypatch):
    loop, stood, health = asyncio.get_running_loop(), 0.0, storage.database.health
    now, alarms = loop.time(), []
    monkeypatch.setattr(loop, "time", lambda: now + stood)
    health.listen(lambda: alarms.append(stood))
    health.suspect("it is too slow")
    saving = asyncio.ensure_future(store_of(storage).delete("unknown", CALLER))
    await asyncio.sleep(0)
    stood = 60.0
    await saving
    assert storage.is_ready
    assert not alarms


def uuid(number):
    return f"message-{number:08}"


async def test_running_tasks_continue_and_are_stored_after_the_outage(storage):
    may_end, is_running = asyncio.Event(), asyncio.Event()

    async def work(text: str):
        yield "begun "
        is_running.set()
        await may_end.wait()
        yield "done"

    runtime = runtime_of(work, storage)
    stream = runtime.on_message_send_stream(message(), CALLER)
    begun = await anext(stream)
    waiting = asyncio.ensure_future(runtime.on_message_send(message(), CALLER))
    await is_running.wait()
    outage = Outage(storage)
    outage.is_on = True
    may_end.set()
    storage.on_trouble(runtime.on_storage_trouble)
    with pytest.raises(StorageUnavailableError):
        await waiting
    with pytest.raises(StorageUnavailableError):
        await runtime.on_list_tasks(ListTasksRequest(), ServerCallContext())
    outage.is_on = False
    *_, last = [event async for event in stream]
    assert last.status.state == COMPLETED
    stored = await storage.of("agent").tasks.get(begun.id, CALLER)
    assert stored.task.status.state == COMPLETED
    assert stored.task.artifacts[0].parts[0].text == "begun done"
    await runtime.aclose()


async def test_a_stream_of_a_thousand_tokens_is_few_statements(storage):
    async def speak(text: str):
        for number in range(1000):
            yield f"{number} "

    runtime = runtime_of(speak, storage)
    counted = Outage(storage)
    task = await runtime.on_message_send(message(), CALLER)
    assert counted.statements <= 20
    found = await runtime.on_get_task(GetTaskRequest(id=task.id), CALLER)
    assert found.artifacts[0].parts[0].text.split() == [str(n) for n in range(1000)]
    await runtime.aclose()


async def test_waiting_for_a_stored_state_does_not_wait_for_the_next():
    class Halting:
        """A store that saves when the test allows it."""

        def __init__(self):
            self.stored = [asyncio.Event(), asyncio.Event()]
            self.begun = iter(self.stored)

        def is_unowned(self, task):
            return False

        async def put(self, task, owner, previous, *_, **__):
            await next(self.begun).wait()
            return previous

    store = Halting()
    page = SqlPage(store, CALLER, None)
    task, event = Task(id="1"), TaskStatusUpdateEvent(task_id="1")

    async def save():
        await page.save(task, event)
        await page.save(task, event)

    saving = asyncio.create_task(save())
    await asyncio.sleep(0)
    assert page.is_saving
    waiting = asyncio.create_task(page.written())
    await asyncio.sleep(0)
    store.stored[0].set()
    await waiting
    assert page.is_saving
    store.stored[1].set()
    await saving


@pytest.fixture
async def clock(monkeypatch):
    """Return the time of the event loop, which the test advances."""
    now = [100.0]
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now[0])
    return now


async def test_an_alarm_gives_a_blocked_loop_additional_time(clock):
    rung = []
    Alarm(4, lambda: rung.append(clock[0]))
    for seconds in (7, 2.9, 0.15, 10):
        clock[0] += seconds
        await turns()
    assert rung == [pytest.approx(110.05)]


async def test_the_additional_time_of_an_alarm_is_limited(clock):
    rung = []
    Alarm(4, lambda: rung.append(clock[0]))
    for _ in range(9):
        clock[0] += 10
        await turns()
    assert rung == [120.0]


async def test_a_cancelled_alarm_is_silent(clock):
    alarm = Alarm(4, pytest.fail)
    clock[0] += 10
    await turns()
    alarm.cancel()
    clock[0] += 100
    await turns()


async def test_a_fair_timeout_cancels_its_block(clock):
    async def wait():
        async with fair_timeout(4):
            await asyncio.Event().wait()

    waiting = asyncio.ensure_future(wait())
    await turns()
    clock[0] += 4
    with pytest.raises(TimeoutError):
        await waiting


async def turns():
    """Let the loop run the callbacks that are due, and those that they schedule."""
    for _ in range(5):
        await asyncio.sleep(0)
