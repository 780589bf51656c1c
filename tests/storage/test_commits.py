"""A commit whose answer is lost, and one that takes too long."""

from __future__ import annotations

import asyncio

import pytest

from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.storage import commit
from a2a_adapters.storage.interface import UsedMessage
from tests.storage.conftest import storage_at
from tests.storage.test_contract import COMPLETED, MISSING, caller, put, store_of, task


@pytest.fixture
async def storage(database_url):
    opened = storage_at(database_url)
    await opened.start()
    yield opened
    await opened.aclose(1)


async def test_what_was_written_unheard_is_taken_back(storage, monkeypatch):
    commits = storage.database.commits
    transaction = commits._transaction

    async def unheard(writes):
        await transaction(writes)
        raise OSError("the answer is lost")

    poet = storage.of("poet")
    monkeypatch.setattr(commits, "_transaction", unheard)
    with pytest.raises(StorageUnavailableError):
        await poet.accept("ann", "message-1", b"digest", task("first"))
    monkeypatch.undo()
    again = await poet.accept("ann", "message-1", b"digest", task("second"))
    assert not isinstance(again, UsedMessage)


async def test_what_takes_too_long_together_is_written_apart(storage, monkeypatch):
    commits = storage.database.commits
    transaction = commits._transaction

    async def slow(writes):
        if len(writes) > 1:
            raise TimeoutError
        return await transaction(writes)

    monkeypatch.setattr(commits, "_transaction", slow)
    monkeypatch.setattr(commit, "_PAUSES", (0.001,))
    poet = storage.of("poet")
    writing = (poet.write_state("ann", f"c{n}", "kind", b"x") for n in range(8))
    async with asyncio.timeout(60):
        await asyncio.gather(*writing)
    assert await poet.read_state("ann", "c7", "kind") == b"x"


async def test_a_write_that_is_held_up_holds_up_no_other(storage, monkeypatch):
    commits = storage.database.commits
    transaction, may_go_on = commits._transaction, asyncio.Event()

    async def written(writes):
        if any(write.key[-1] == "held" for write in writes):
            await may_go_on.wait()
        return await transaction(writes)

    store = store_of(storage)
    version = await put(store, task("held"))
    monkeypatch.setattr(commits, "_transaction", written)
    monkeypatch.setattr(commit, "STATEMENT_SECONDS", 0.5)
    held = asyncio.ensure_future(store.put(task("held", COMPLETED), "ann", version))
    async with asyncio.timeout(60):
        for number in range(10):
            await store.put(task(f"t{number}"), "ann", MISSING)
        assert not held.done()
        may_go_on.set()
        await held
    assert (await store.get("held", caller())).task.status.state == COMPLETED


@pytest.mark.parametrize("size", [10, 3_000_000])
async def test_a_write_that_takes_its_time_gets_it(storage, monkeypatch, size):
    commits = storage.database.commits
    transaction = commits._transaction
    slow = ("state", "poet", "ann", "slow", "kind")

    async def written(writes):
        if any(write.key == slow for write in writes):
            await asyncio.sleep(2)
        return await transaction(writes)

    monkeypatch.setattr(commits, "_transaction", written)
    monkeypatch.setattr(commit, "STATEMENT_SECONDS", 0.5)
    poet = storage.of("poet")
    writing = asyncio.ensure_future(poet.write_state("ann", "slow", "kind", b"x" * size))
    for number in range(20):
        await poet.tasks.put(task(f"t{number}"), "ann", MISSING)
        await asyncio.sleep(0.1)
    async with asyncio.timeout(60):
        await writing
    assert len(await poet.read_state("ann", "slow", "kind")) == size
