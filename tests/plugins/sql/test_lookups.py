"""PostgreSQL's query plans for an unanalysed table."""

from __future__ import annotations

import asyncio
import time

import psycopg
from a2a.types import TaskState

from a2a_adapters.protocol.conversion import DURABLE
from tests.plugins.sql.conftest import storage_at
from tests.plugins.sql.test_contract import COMPLETED, caller, put, store_of, task
from tests.support.postgresql import new_database

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
    storage = storage_at(url)
    await storage.start()
    store = store_of(storage)
    for number in range(0, TASKS, AT_ONCE):
        ids = [f"t{number + n}" for n in range(AT_ONCE)]
        versions = await asyncio.gather(*(put(store, task(each)) for each in ids))
        known = zip(ids, versions, strict=True)
        ends = [put(store, task(each, COMPLETED), version=version) for each, version in known]
        await asyncio.gather(*ends)
        assert (await store.get(ids[0], caller())).task.status.state == COMPLETED
    await storage.aclose(1)
    assert read_by_index(url) < 10 * TASKS


async def test_expired_waiting_tasks_are_found_by_an_index():
    url = new_database()
    storage = storage_at(url)
    await storage.start()
    store = store_of(storage)
    for number in range(TASKS):
        waiting = task(f"t{number}", TaskState.TASK_STATE_INPUT_REQUIRED, second=number)
        waiting.status.message.metadata[DURABLE] = {}
        await put(store, waiting)
    for _ in range(AT_ONCE):
        late = await store.waiting_since(3)
        assert [left.stored.task.id for left in late] == ["t0", "t1", "t2"]
    await storage.aclose(1)
    assert read_by_index(url) < 10 * TASKS
