"""Storages of every engine."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from sqlalchemy import event
from sqlalchemy.util import greenlet_spawn

from a2a_adapters import Limits
from a2a_adapters.storage import open_storage
from tests.support import sqlite


def new_url(engine, tmp_path, *, tables=True):
    """Return the URL of an empty storage, with or without its tables."""
    if engine == "postgresql":
        from tests.support.postgresql import new_database

        return new_database(tables=tables)
    if engine == "sqlite":
        path = tmp_path / "agents.db"
        return sqlite.new_database(path) if tables else f"sqlite:///{path}"
    return "memory:"


def storage_at(url, limits=None, bus=None):
    limits = limits or Limits()
    return open_storage(url, limits, bus=bus)


@asynccontextmanager
async def opened(url, bus=None):
    """Open a storage and close it."""
    storage = storage_at(url, bus=bus)
    await storage.start()
    try:
        yield storage
    finally:
        await storage.aclose(1)


def before_statements(database, listener):
    """Call the listener before every statement; return a function that stops it."""
    engine, bulk = database.engine.sync_engine, database.commits.bulk
    is_listening = True

    async def write(batch):
        for rows in batch:
            await greenlet_spawn(listener, None, None, str(rows.statement))
        return await type(bulk).write(bulk, batch)

    def before(*args):
        if is_listening:
            listener(*args)

    def end():
        # The listener stays registered: SQLAlchemy may be iterating over the listeners right now.
        nonlocal is_listening
        is_listening = False
        del bulk.write

    event.listen(engine, "before_cursor_execute", before)
    bulk.write = write
    return end


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def url(request, tmp_path):
    """The URL of an empty storage of each engine."""
    return new_url(request.param, tmp_path)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request, tmp_path):
    """The URL of an empty database of each engine that survives its process."""
    return new_url(request.param, tmp_path)


@pytest.fixture
async def storage(url):
    """An empty storage of each engine."""
    async with opened(url) as storage:
        yield storage
