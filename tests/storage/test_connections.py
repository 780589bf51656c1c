"""Connections to PostgreSQL that are closed while somebody uses them."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from tests.storage.conftest import new_url, storage_at

READERS = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)'"


@pytest.mark.parametrize("are_cancelled", [False, True])
async def test_closing_a_storage_under_its_readers_ends_them(tmp_path, are_cancelled):
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
