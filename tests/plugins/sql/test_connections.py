"""Connections to databases: their end while in use, their number, and query plans."""

from __future__ import annotations

import asyncio
import threading
import time

import psycopg
import pytest
from a2a.types import TaskState
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from a2a_adapters.protocol.conversion import DURABLE
from a2a_adapters.protocol.errors import StorageUnavailableError
from tests.plugins.sql.conftest import new_url, opened, storage_at
from tests.plugins.sql.test_contract import COMPLETED, caller, put, store_of, task
from tests.support.postgresql import new_database, new_database_at, server_of_its_own
from tests.support.processes import PATIENCE

LOCKED_OUT = """
    SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
    WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted
"""
READERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND query = 'SELECT pg_sleep(600)'
"""
COUNTING = """
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 500000)
    SELECT count(*) FROM numbers
"""


@pytest.mark.parametrize("are_cancelled", [False, True])
async def test_closing_a_storage_ends_its_readers(tmp_path, are_cancelled):
    url = new_url("postgresql", tmp_path)
    storage = storage_at(url)
    await storage.start()

    async def read():
        async with storage.database.engine.connect() as connection:
            await connection.execute(text("SELECT pg_sleep(600)"))

    readers = [asyncio.create_task(read()) for _ in range(3)]
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as other:
        while (await (await other.execute(READERS)).fetchone()) != (3,):
            pass
    if are_cancelled:
        for reader in readers:
            reader.cancel()
        await asyncio.sleep(0)
    await storage.aclose(0)
    for reader in readers:
        with pytest.raises((DBAPIError, asyncio.CancelledError)):
            await reader


async def test_a_reader_does_not_reconnect_after_closing(tmp_path):
    url = new_url("postgresql", tmp_path)
    storage = storage_at(url)
    await storage.start()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as other:
        await other.execute("SELECT pg_advisory_lock(1)")
        reading = asyncio.create_task(
            storage.database.read(text("SELECT pg_advisory_xact_lock_shared(1)"))
        )
        while (await (await other.execute(LOCKED_OUT)).fetchone()) != (1,):
            pass
        await storage.aclose(0)
        await other.execute("SELECT pg_advisory_unlock(1)")
        with pytest.raises(StorageUnavailableError):
            await reading


MINE = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"


async def test_the_number_of_connections_is_as_documented(tmp_path):
    url = new_url("postgresql", tmp_path)
    async with (
        opened(url) as storage,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as other,
    ):
        await other.execute("SELECT pg_advisory_lock(1)")
        waiting = text("SELECT pg_advisory_xact_lock_shared(1)")
        reads = [asyncio.create_task(storage.database.read(waiting)) for _ in range(20)]
        while (await (await other.execute(LOCKED_OUT)).fetchone()) != (10,):
            pass
        assert await (await other.execute(MINE)).fetchone() == (12 + 1,)
        for read in reads:
            read.cancel()
    await asyncio.gather(*reads, return_exceptions=True)


@pytest.mark.thorough
async def test_processes_warn_if_they_may_exceed_the_connection_limit(caplog):
    server = server_of_its_own()
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET max_connections = 27")
    server.stop()
    server.ensure_postgres_running()
    url = new_database_at(server)
    storages = [storage_at(url) for _ in range(3)]
    for storage in storages[:2]:
        await storage.start()
    assert "max_connections" not in caplog.text
    await storages[2].start()
    [said] = [record.getMessage() for record in caplog.records if "max_conn" in record.getMessage()]
    assert said.startswith("3 processes with up to 12 connections each")
    assert "limit of 24:" in said
    for storage in storages:
        await storage.aclose(1)
    server.stop()


async def test_cancelled_readers_lose_no_connection_to_sqlite(tmp_path, caplog):
    async with opened(new_url("sqlite", tmp_path)) as storage:
        before = set(threading.enumerate())
        readers = [asyncio.create_task(storage.database.read(text(COUNTING))) for _ in range(4)]
        await until(lambda: set(threading.enumerate()) - before)
        for _ in range(2):  # the second during the handling of the first
            await asyncio.sleep(0)
            for reader in readers:
                reader.cancel()
        await asyncio.wait(readers)
    assert "terminating connection" not in caplog.text


async def until(is_so):
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110 - no thread tells a loop that it begins or ends
            await asyncio.sleep(0)


READ_BY_INDEX = """
    SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'a2a_tasks'
"""
TASKS, AT_ONCE = 400, 20


def read_by_index(url):
    """Return the number of index entries read, once all connections are closed."""
    with psycopg.connect(url, autocommit=True) as connection:
        alone = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        while connection.execute(alone).fetchone() != (1,):
            time.sleep(0.05)
        return connection.execute(READ_BY_INDEX).fetchone()[0]


async def test_a_task_is_found_by_its_id():
    url = new_database()
    async with opened(url) as storage:
        store = store_of(storage)
        for number in range(0, TASKS, AT_ONCE):
            ids = [f"t{number + n}" for n in range(AT_ONCE)]
            versions = await asyncio.gather(*(put(store, task(each)) for each in ids))
            known = zip(ids, versions, strict=True)
            ends = [put(store, task(each, COMPLETED), version=version) for each, version in known]
            await asyncio.gather(*ends)
            assert (await store.get(ids[0], caller())).task.status.state == COMPLETED
    assert read_by_index(url) < 10 * TASKS


async def test_expired_waiting_tasks_are_found_by_an_index():
    url = new_database()
    async with opened(url) as storage:
        store = store_of(storage)
        for number in range(TASKS):
            waiting = task(f"t{number}", TaskState.TASK_STATE_INPUT_REQUIRED, second=number)
            waiting.status.message.metadata[DURABLE] = {}
            await put(store, waiting)
        for _ in range(AT_ONCE):
            late = await store.waiting_since(3)
            assert [left.stored.task.id for left in late] == ["t0", "t1", "t2"]
    assert read_by_index(url) < 10 * TASKS
