"""SQLite's log is checkpointed in the background and reset."""

from __future__ import annotations

import asyncio
import threading

import pytest
from a2a_adapters_sql import bulk, engine

from tests.plugins.sql.conftest import new_url, opened, storage_at
from tests.plugins.sql.test_contract import ids, task
from tests.support.processes import PATIENCE


@pytest.fixture
async def open_storage(tmp_path):
    opened = []

    async def started():
        opened.append(storage_at(new_url("sqlite", tmp_path)))
        await opened[-1].start()
        return opened[-1].of("poet")

    yield started
    for storage in opened:
        await storage.aclose(1)


def size(path):
    return path.stat().st_size


async def accept(poet, numbers):
    await asyncio.gather(
        *(poet.accept("ann", f"message-{n}", b"digest", task(f"t{n}")) for n in numbers)
    )


async def test_commits_reach_the_database_file(open_storage, tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "_CHECKPOINT_ROWS", 10)
    poet = await open_storage()
    file = tmp_path / "agents.db"
    before = file.read_bytes()
    await accept(poet, range(40))
    async with asyncio.timeout(PATIENCE):
        while file.read_bytes() == before:
            await ids(poet.tasks)
    assert len(await ids(poet.tasks)) == 40


async def test_a_storage_that_was_closed_leaves_no_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "_CHECKPOINT_ROWS", 1)
    before = set(threading.enumerate())
    async with opened(new_url("sqlite", tmp_path)) as storage:
        await accept(storage.of("poet"), range(3))
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE)
        assert not thread.is_alive(), thread.name


async def test_the_log_is_reset_without_background_checkpoints(open_storage, tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "_CHECKPOINT_ROWS", 1_000_000)
    monkeypatch.setattr(engine, "LOG_PAGES", 20)
    poet = await open_storage()
    for n in range(60):
        await accept(poet, [n])
    assert size(tmp_path / "agents.db-wal") < 60 * 4096
