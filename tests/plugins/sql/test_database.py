"""Behaviour of databases beyond the in-memory storage."""

from __future__ import annotations

import asyncio

import pytest
from a2a.server.cluster.task_store import ConcurrentTaskModificationError
from a2a.types import ListTasksRequest
from a2a_adapters_sql.migrate import differences

from a2a_adapters import ConfigurationError
from tests.plugins.sql.conftest import before_statements, opened, storage_at
from tests.plugins.sql.test_contract import (
    CANCELED,
    COMPLETED,
    MISSING,
    caller,
    ids,
    put,
    store_of,
    task,
)


@pytest.fixture
async def storage(database_url):
    async with opened(database_url) as storage:
        yield storage


async def test_a_write_with_an_outdated_version_is_refused(storage):
    store = store_of(storage)
    first = await put(store, task())
    second = await put(store, task(context="second"), version=first)
    assert second.is_after(first)
    for stale in (first, MISSING):
        with pytest.raises(ConcurrentTaskModificationError):
            await put(store, task(context="stale"), version=stale)
    assert (await store.get("t", caller())).task.context_id == "second"


async def test_of_concurrent_writers_one_wins(storage):
    store = store_of(storage)
    version = await put(store, task())
    results = await asyncio.gather(
        *(put(store, task(context=str(n)), version=version) for n in range(8)),
        return_exceptions=True,
    )
    lost = [error for error in results if isinstance(error, ConcurrentTaskModificationError)]
    assert len(lost) == 7


async def test_a_cancellation_overrides_non_terminal_states(storage):
    store = store_of(storage)
    version = await put(store, task())
    await put(store, task(context="newer"), version=version)
    await put(store, task(state=CANCELED), version=version)
    assert (await store.get("t", caller())).task.status.state == CANCELED
    with pytest.raises(ConcurrentTaskModificationError):
        await put(store, task(state=CANCELED), version=version)


async def test_a_deleted_task_is_not_recreated(storage):
    store = store_of(storage)
    version = await put(store, task())
    await store.delete("t", caller())
    with pytest.raises(ConcurrentTaskModificationError):
        await put(store, task(state=CANCELED), version=version)
    assert await store.get("t", caller()) is None


async def test_everything_survives_a_restart(database_url):
    async with opened(database_url) as before:
        await put(store_of(before), task(state=COMPLETED))
        await before.of("poet").accept("ann", "m", b"digest", task("accepted"))
        await before.of("poet").write_state("ann", "c", "k", b"state")
    async with opened(database_url) as after:
        assert await ids(store_of(after)) == ["t", "accepted"]
        used = await after.of("poet").accept("ann", "m", b"digest", task("again"))
        assert used.task_id == "accepted"
        assert await after.of("poet").read_state("ann", "c", "k") == b"state"


async def test_many_writes_are_one_transaction(storage):
    store = store_of(storage)
    storage.database.lease._renewal.cancel()  # private: it may write at the same time
    statements = []
    before_statements(storage.database, lambda *a: statements.append(a[2]))
    before = storage.database.commits.transactions
    await asyncio.gather(*(put(store, task(f"t{number}")) for number in range(300)))
    assert storage.database.commits.transactions - before <= 2
    assert len(statements) <= 6
    assert len(await ids(store, page_size=100)) == 100


async def test_a_refused_write_fails_alone(storage):
    store = store_of(storage)
    good = [put(store, task(f"t{number}")) for number in range(5)]
    # A time outside the column's range.
    bad = task("bad")
    bad.status.timestamp.seconds = 2**62
    results = await asyncio.gather(*good, put(store, bad), return_exceptions=True)
    assert [isinstance(result, Exception) for result in results] == [False] * 5 + [True]
    assert len(await ids(store)) == 5


@pytest.mark.thorough
async def test_a_page_of_ten_thousand_tasks_uses_an_index(storage):
    store = store_of(storage)
    for start in range(0, 10_000, 100):
        numbers = range(start, start + 100)
        await asyncio.gather(*(put(store, task(f"t{n:05}", second=n + 1)) for n in numbers))
    statements = []
    before_statements(storage.database, lambda *a: statements.append(a[2]))
    page = await store.list(ListTasksRequest(page_size=50), caller())
    assert page.total_size == 10_000
    assert [found.id for found in page.tasks][:2] == ["t09999", "t09998"]
    about_tasks = [each for each in statements if "a2a_tasks" in each]  # excludes the sweep
    assert len(about_tasks) == 2


async def test_tables_match_the_code(storage):
    async with storage.database.engine.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_a_newer_schema_is_refused(database_url):
    async with opened(database_url) as storage, storage.database.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE a2a_schema SET version_num = '9999'")
    with pytest.raises(ConfigurationError, match="newer than this a2a-adapters"):
        await storage_at(database_url).start()


async def test_concurrently_started_servers_create_the_tables_once(tmp_path):
    from tests.support.postgresql import new_database

    url = new_database(tables=False)
    storages = [storage_at(url) for _ in range(3)]
    await asyncio.gather(*(storage.start() for storage in storages))
    for storage in storages:
        await storage.aclose(1)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("mysql://u:secret@h/d", "unknown storage mysql"),
        ("nonsense", "the storage must be a URL"),
        ("sqlite:///", "needs a file"),
        ("sqlite:///{tmp}/missing/a.db", "No such file"),
        ("sqlite:///{tmp}/a.db?synchronous=maybe", "single option"),
        ("postgresql://u:secret@127.0.0.1:1/d", "cannot use the storage"),
    ],
)
async def test_a_wrong_url_is_one_line_without_the_password(tmp_path, wrong, says):
    with pytest.raises(ConfigurationError, match=says) as raised:
        await storage_at(wrong.format(tmp=tmp_path)).start()
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


async def test_a_sqlite_file_has_one_process(tmp_path):
    url = f"sqlite:///{tmp_path}/agents.db"
    async with opened(url):
        with pytest.raises(ConfigurationError, match="another process uses"):
            await storage_at(url).start()
    second = storage_at(url)
    await second.start()
    await second.aclose(1)


async def test_an_orphaned_task_is_taken_over_once(database_url):
    gone = storage_at(database_url)
    await gone.start()
    await put(store_of(gone), task("working"))
    await put(store_of(gone), task("done", COMPLETED))
    await gone.database.commits.aclose(1)
    await end_lease(gone)
    await gone.database.release()
    async with opened(database_url) as heir:
        [left] = await heir.of("poet").left_behind()
        assert (left.owner, left.stored.task.id) == ("ann", "working")
        assert await heir.of("poet").left_behind() == []
        await put(store_of(heir), task("working", COMPLETED), version=left.stored.version)


async def end_lease(storage, *, only=False):
    """Expire the lease of a process or of all, as after a kill."""
    storage.database.lease._renewal.cancel()
    which = f" WHERE id = '{storage.database.process_id}'" if only else ""
    async with storage.database.engine.begin() as connection:
        await connection.exec_driver_sql(f"UPDATE a2a_processes SET lease_until = 0{which}")


async def test_tasks_of_live_processes_are_not_taken_over():
    from tests.support.postgresql import new_database

    url = new_database()
    one, other = storage_at(url), storage_at(url)
    await one.start()
    await other.start()
    await put(store_of(one), task())
    assert await other.of("poet").left_behind() == []
    await one.aclose(1)
    await other.aclose(1)
