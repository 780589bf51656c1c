"""Closing of connections that are in use."""

from __future__ import annotations

import asyncio
import threading

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from a2a_adapters.protocol.errors import StorageUnavailableError
from tests.plugins.sql.conftest import new_url, storage_at
from tests.support.postgresql import new_database_at, server_of_its_own
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
    storage = storage_at(url)
    await storage.start()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as other:
        await other.execute("SELECT pg_advisory_lock(1)")
        waiting = text("SELECT pg_advisory_xact_lock_shared(1)")
        reads = [asyncio.create_task(storage.database.read(waiting)) for _ in range(20)]
        while (await (await other.execute(LOCKED_OUT)).fetchone()) != (10,):
            pass
        assert await (await other.execute(MINE)).fetchone() == (12 + 1,)
        for read in reads:
            read.cancel()
    await storage.aclose(1)
    await asyncio.gather(*reads, return_exceptions=True)


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
    storage = storage_at(new_url("sqlite", tmp_path))
    await storage.start()
    before = set(threading.enumerate())
    readers = [asyncio.create_task(storage.database.read(text(COUNTING))) for _ in range(4)]
    await until(lambda: set(threading.enumerate()) - before)
    for _ in range(2):  # the second during the handling of the first
        await asyncio.sleep(0)
        for reader in readers:
            reader.cancel()
    await asyncio.wait(readers)
    await storage.aclose(1)
    assert "terminating connection" not in caplog.text


async def until(is_so):
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110 - no thread tells a loop that it begins or ends
            await asyncio.sleep(0)
