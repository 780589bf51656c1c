"""Commits with lost responses, and slow commits."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_sql import commit
from a2a_adapters_sql.lease import RenewLease

from a2a_adapters import Limits
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.storage.interface import UsedMessage
from tests.plugins.sql.conftest import opened, storage_at
from tests.plugins.sql.test_contract import COMPLETED, MISSING, caller, put, store_of, task

pytestmark = pytest.mark.timeout(5 * 60)


@pytest.fixture
async def storage(database_url):
    async with opened(database_url) as storage:
        yield storage


async def test_an_abandoned_write_is_compensated(storage, monkeypatch):
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


async def test_acknowledged_writes_stay_when_others_of_the_batch_are_repeated(storage, monkeypatch):
    commits = storage.database.commits
    transaction, troubles = commits._transaction, [ValueError("refused together"), None, OSError()]

    async def troubled(writes):
        if troubles and (trouble := troubles.pop(0)) is not None:
            raise trouble
        return await transaction(writes)

    monkeypatch.setattr(commits, "_transaction", troubled)
    poet = storage.of("poet")
    names = ("first", "second")
    await asyncio.gather(
        *(poet.accept("ann", name, b"digest", task(name)) for name in names),
    )
    for name in names:
        assert await poet.accept("ann", name, b"digest", task("again")) == UsedMessage(
            name, b"digest"
        )


async def test_waiting_callers_fail_when_the_storage_closes(database_url, monkeypatch):
    storage = storage_at(database_url)
    await storage.start()
    commits, has_begun = storage.database.commits, asyncio.Event()

    async def hang(_writes):
        has_begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(commits, "_transaction", hang)
    poet = storage.of("poet")
    writing = [asyncio.ensure_future(poet.write_state("ann", "c1", "kind", b"x"))]
    await has_begun.wait()
    writing.append(asyncio.ensure_future(poet.write_state("ann", "c2", "kind", b"x")))
    await storage.aclose(0.01)
    for outcome in await asyncio.gather(*writing, return_exceptions=True):
        assert isinstance(outcome, StorageUnavailableError)


async def test_a_slow_batch_is_split(storage, monkeypatch):
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


async def test_a_delayed_write_delays_no_other(storage, monkeypatch):
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


async def test_a_lease_is_renewed_beside_large_writes_after_a_hiccup(database_url, monkeypatch):
    storage = storage_at(database_url, Limits(lease_seconds=1))
    await storage.start()
    commits = storage.database.commits
    transaction, may_go_on = commits._transaction, asyncio.Event()
    held, renewed, hiccups = [], asyncio.Event(), []

    async def written(writes):
        if any(write.size > 1_000_000 for write in writes):
            held.append(writes)
            await may_go_on.wait()
        result = await transaction(writes)
        if isinstance(writes[0], RenewLease) and len(held) == 3:
            if not hiccups:
                hiccups.append(writes)
                raise TimeoutError
            renewed.set()
        return result

    monkeypatch.setattr(commits, "_transaction", written)
    monkeypatch.setattr(commit, "STATEMENT_SECONDS", 100)
    poet = storage.of("poet")
    large = [poet.write_state("ann", f"c{n}", "kind", b"x" * 3_000_000) for n in range(3)]
    writing = asyncio.gather(*large)
    async with asyncio.timeout(60):
        await renewed.wait()
        may_go_on.set()
        await writing
        await storage.aclose(60)


async def test_the_lease_outlives_pending_writes(database_url, monkeypatch):
    storage = storage_at(database_url)
    await storage.start()
    commits = storage.database.commits
    transaction, order = commits._transaction, []
    may_go_on, has_begun = asyncio.Event(), asyncio.Event()

    async def written(writes):
        if any(write.size > 1_000_000 for write in writes):
            has_begun.set()
            await may_go_on.wait()
        result = await transaction(writes)
        order.extend(type(write).__name__ for write in writes if type(write) is not RenewLease)
        return result

    monkeypatch.setattr(commits, "_transaction", written)
    poet = storage.of("poet")
    writing = asyncio.gather(poet.write_state("ann", "c1", "kind", b"x" * 3_000_000))
    async with asyncio.timeout(60):
        await has_begun.wait()
        closing = asyncio.ensure_future(storage.aclose(60))
        await poet.write_state("ann", "c2", "kind", b"x")
        may_go_on.set()
        await asyncio.gather(writing, closing)
    assert order[-2:] == ["SaveState", "EndLease"]


async def test_running_writes_complete_when_the_storage_closes(storage, monkeypatch):
    commits = storage.database.commits
    transaction, has_begun, may_go_on = commits._transaction, asyncio.Event(), asyncio.Event()

    async def written(writes):
        if any(write.key[-1] == "kind" for write in writes):
            has_begun.set()
            await may_go_on.wait()
        return await transaction(writes)

    monkeypatch.setattr(commits, "_transaction", written)
    monkeypatch.setattr(commit, "STATEMENT_SECONDS", 100)
    poet = storage.of("poet")
    writing = asyncio.ensure_future(poet.write_state("ann", "c1", "kind", b"x"))
    async with asyncio.timeout(100):
        await has_begun.wait()
        closing = asyncio.ensure_future(storage.database.commits.aclose(100))
        await asyncio.wait([closing], timeout=0.1)
        may_go_on.set()
        await writing
        await closing


async def test_a_large_state_swap_delays_no_others(storage, monkeypatch):
    commits = storage.database.commits
    transaction, may_go_on = commits._transaction, asyncio.Event()
    large = ("state", "poet", "ann", "large", "kind")

    async def written(writes):
        if any(write.key == large for write in writes):
            await may_go_on.wait()
        return await transaction(writes)

    monkeypatch.setattr(commits, "_transaction", written)
    monkeypatch.setattr(commit, "STATEMENT_SECONDS", 100)
    poet = storage.of("poet")
    swapping = asyncio.ensure_future(
        poet.swap_state("ann", "large", "kind", None, b"x" * 3_000_000)
    )
    async with asyncio.timeout(60):
        await poet.write_state("ann", "small", "kind", b"x")
        assert not swapping.done()
        may_go_on.set()
        assert await swapping


@pytest.mark.parametrize("size", [10, 3_000_000])
async def test_a_slow_write_gets_more_time(storage, monkeypatch, size):
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
