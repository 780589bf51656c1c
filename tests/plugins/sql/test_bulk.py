"""Bulk writes are atomic."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from a2a.server.cluster.version import TaskVersion
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

from a2a_adapters.storage.interface import UsedMessage
from tests.plugins.sql.conftest import new_url, opened
from tests.plugins.sql.test_contract import caller, ids, task


@pytest.fixture
async def storage(database_url):
    async with opened(database_url) as storage:
        yield storage


def watched(storage, monkeypatch):
    """Return the results of bulk writes."""
    outcomes = []
    bulk = storage.database.commits.bulk

    storage.database.lease._renewal.cancel()  # it is not written in bulk

    async def write(batch):
        outcomes.append(await type(bulk).write(bulk, batch))
        return outcomes[-1]

    monkeypatch.setattr(bulk, "write", write)
    return outcomes


async def accepted(poet, number):
    name = f"message-{number}"
    return await poet.accept("ann", name, b"digest", task(f"t{number}"))


async def test_messages_tasks_and_states_are_written_in_bulk(storage, monkeypatch):
    outcomes = watched(storage, monkeypatch)
    poet = storage.of("poet")
    versions = await asyncio.gather(*(accepted(poet, number) for number in range(5)))
    await poet.tasks.put(task("t0"), "ann", versions[0], receivers=["config"])
    await poet.write_state("ann", "c", "kind", b"state")
    assert outcomes
    assert all(outcomes)
    assert sorted(await ids(poet.tasks)) == [f"t{number}" for number in range(5)]
    assert await poet.read_state("ann", "c", "kind") == b"state"


async def test_a_conflict_affects_only_its_own_write(storage, monkeypatch):
    poet = storage.of("poet")
    version = await accepted(poet, 0)
    outcomes = watched(storage, monkeypatch)
    again, new, stale = await asyncio.gather(
        poet.accept("ann", "message-0", b"digest", task("other")),
        accepted(poet, 1),
        poet.tasks.put(task("t0"), "ann", TaskVersion(1)),
        return_exceptions=True,
    )
    assert outcomes == [False]
    assert isinstance(again, UsedMessage)
    assert isinstance(new, TaskVersion)
    assert isinstance(stale, Exception)
    assert sorted(await ids(poet.tasks)) == ["t0", "t1"]
    assert (await poet.tasks.get("t0", caller())).version == version


async def test_failed_bulk_writes_fall_back(storage, monkeypatch):
    async def fail(batch):
        raise OSError("broken")

    monkeypatch.setattr(storage.database.commits.bulk, "write", fail)
    poet = storage.of("poet")
    await accepted(poet, 0)
    assert await ids(poet.tasks) == ["t0"]


LOCKS = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "LOCK a2a_tasks IN EXCLUSIVE MODE"}


async def test_abandoned_writes_are_not_written(storage):
    poet = storage.of("poet")
    bulk = storage.database.commits.bulk
    save = poet.tasks.write_of(task("late"), "ann", TaskVersion.MISSING)
    batch = type(save).rows(bulk.dialect.name, [save])
    async with storage.database.engine.connect() as other:
        await other.execute(text(LOCKS[bulk.dialect.name]))
        writing = asyncio.ensure_future(bulk.write(batch))
        done, _ = await asyncio.wait([writing], timeout=0.2)
        assert not done
        writing.cancel()
        await asyncio.wait([writing])
        await other.rollback()
    await accepted(poet, 1)  # written in bulk after it
    assert await ids(poet.tasks) == ["t1"]


async def test_the_file_is_closed_when_the_storage_is(tmp_path):
    async with opened(new_url("sqlite", tmp_path)) as storage:
        await accepted(storage.of("poet"), 0)
        closed = threading.Event()

        def close(*_):
            time.sleep(0.2)
            closed.set()

        event.listen(storage.database.commits.bulk.engine, "close", close)
    assert closed.is_set()


async def test_a_connection_that_fails_during_setup_is_closed(tmp_path, monkeypatch):
    async with opened(new_url("postgresql", tmp_path)) as storage:
        poet, commits = storage.of("poet"), storage.database.commits
        await commits.bulk.aclose()

        async def fail(_connection):
            raise OperationalError("statement", {}, Exception("the connection is lost"))

        with monkeypatch.context() as patched:
            patched.setattr(AsyncConnection, "get_raw_connection", fail)
            await poet.write_state("ann", "c", "kind", b"1")
        assert storage.database.engine.pool.checkedout() == 0
        outcomes = watched(storage, monkeypatch)
        await poet.write_state("ann", "c", "kind", b"2")
        assert outcomes == [True]
        assert await poet.read_state("ann", "c", "kind") == b"2"
