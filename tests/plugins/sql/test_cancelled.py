"""Cancelled work ends even if a driver swallows the cancellation."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_sql import commit
from a2a_adapters_sql.bulk import Rows
from a2a_adapters_sql.commit import Write
from a2a_adapters_sql.replicas.batches import BatchBus
from a2a_adapters_sql.replicas.bus import BusMessage
from a2a_adapters_sql.schema import tasks
from sqlalchemy import select
from sqlalchemy.exc import OperationalError
from sqlalchemy.util import await_only

from a2a_adapters.protocol.errors import StorageUnavailableError
from tests.plugins.sql.conftest import before_statements, opened, storage_at


class Driver:
    """Waits forever and swallows its first cancellation.

    Args:
        error: Raised instead; None means nothing.
    """

    def __init__(self, error=None):
        self.begun = asyncio.Event()
        self._error = error

    async def wait(self):
        if self.begun.is_set():
            await asyncio.Event().wait()
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if self._error is not None:
                raise self._error from None


def is_alone():
    """Return whether only the test runs in its event loop."""
    return asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("size", [1, 3_000_000], ids=["with others", "apart"])
async def test_running_writes_end_with_the_storage(database_url, size, monkeypatch):
    driver = Driver(OSError("the connection is lost"))
    storage = storage_at(database_url)
    await storage.start()
    monkeypatch.setattr(storage.database.commits, "_transaction", lambda _: driver.wait())
    state = storage.of("poet").write_state("ann", "c", "kind", b"x" * size)
    writing = asyncio.create_task(state)
    await driver.begun.wait()
    await storage.aclose(0.01)
    with pytest.raises(StorageUnavailableError):
        await writing
    assert is_alone()


class Slow(Write):
    """Is too slow on its first separate attempt."""

    key = ("slow",)

    def __init__(self):
        self.driver = Driver(asyncio.CancelledError())

    @classmethod
    def rows(cls, dialect, writes):
        return [Rows(tasks.delete(), [{}])]

    @classmethod
    async def execute(cls, connection, writes):
        for write in writes:
            if not write.driver.begun.is_set():
                await write.driver.wait()
        return ["written"] * len(writes)


async def test_a_slow_bulk_write_is_abandoned(database_url, monkeypatch):
    async with opened(database_url) as storage:
        commits = storage.database.commits
        driver = Driver(OSError("the connection is lost"))
        monkeypatch.setattr(commit, "STATEMENT_SECONDS", 0.05)
        monkeypatch.setattr(commits.bulk, "write", lambda _: driver.wait())
        async with asyncio.timeout(60):
            assert await commits.write(Slow()) == "written"
        monkeypatch.undo()


async def test_a_cancelled_read_is_not_retried(database_url):
    async with opened(database_url) as storage:
        driver = Driver(OperationalError("statement", {}, Exception("the connection is lost")))
        end = before_statements(storage.database, lambda *_: await_only(driver.wait()))
        reading = asyncio.create_task(storage.database.read(select(1)))
        await driver.begun.wait()
        end()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading


class Bus(BatchBus):
    """A bus on a fake driver."""

    _payload_bytes = 1_000
    _failures = (OSError,)

    def __init__(self, driver):
        super().__init__("me")
        self._driver = driver

    async def _listen(self):
        self._begin()
        await self._driver.wait()

    async def _send(self):
        await self._send_by(lambda *_: self._driver.wait())


@pytest.mark.parametrize("error", [OSError("lost"), ValueError("wrong"), None], ids=repr)
async def test_a_bus_ends_when_it_is_closed(error, caplog):
    bus = Bus(Driver(error))
    await bus.start()
    await bus.aclose()
    assert is_alone()
    assert not caplog.records


async def test_a_bus_that_sends_ends_when_it_is_closed():
    driver = Driver()
    bus = Bus(driver)
    bus._listen = asyncio.Event().wait
    bus._is_listening.set()
    await bus.start()
    sending = asyncio.create_task(bus.send(BusMessage("you", "poet", b"x")))
    await driver.begun.wait()
    await bus.aclose()
    await sending
    assert is_alone()
