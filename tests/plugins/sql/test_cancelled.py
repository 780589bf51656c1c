"""What is cancelled ends, though a driver may keep that to itself and fail, or say nothing."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_sql import commit
from a2a_adapters_sql.bulk import Rows
from a2a_adapters_sql.commit import Write
from a2a_adapters_sql.replicas.batches import BatchBus
from a2a_adapters_sql.replicas.bus import Letter
from a2a_adapters_sql.schema import tasks
from sqlalchemy import select
from sqlalchemy.exc import OperationalError
from sqlalchemy.util import await_only

from a2a_adapters.protocol.errors import StorageUnavailableError
from tests.plugins.sql.conftest import before_statements, storage_at


class Driver:
    """Waits for ever, and does not say so when it is cancelled; the first time only.

    Args:
        error: What it raises instead; None is nothing.
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
    """Tell whether nothing but the test runs in its event loop."""
    return asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("size", [1, 3_000_000], ids=["with others", "apart"])
async def test_what_is_being_written_ends_with_its_storage(database_url, size, monkeypatch):
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
    """Takes too long the first time that it is written the long way."""

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


async def test_what_takes_too_long_in_bulk_is_not_waited_for_any_longer(database_url, monkeypatch):
    storage = storage_at(database_url)
    await storage.start()
    commits = storage.database.commits
    driver = Driver(OSError("the connection is lost"))
    monkeypatch.setattr(commit, "STATEMENT_SECONDS", 0.05)
    monkeypatch.setattr(commits.bulk, "write", lambda _: driver.wait())
    async with asyncio.timeout(60):
        assert await commits.write(Slow()) == "written"
    monkeypatch.undo()
    await storage.aclose(1)


async def test_a_read_that_is_cancelled_is_not_tried_again(database_url):
    storage = storage_at(database_url)
    await storage.start()
    driver = Driver(OperationalError("statement", {}, Exception("the connection is lost")))
    end = before_statements(storage.database, lambda *_: await_only(driver.wait()))
    reading = asyncio.create_task(storage.database.read(select(1)))
    await driver.begun.wait()
    end()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await storage.aclose(1)


class Bus(BatchBus):
    """Listens and sends by a driver."""

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
    sending = asyncio.create_task(bus.send(Letter("you", "poet", b"x")))
    await driver.begun.wait()
    await bus.aclose()
    await sending
    assert is_alone()
