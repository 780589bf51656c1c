"""Servers and `db prune` delete old and excess data."""

from __future__ import annotations

import asyncio
import time

import pytest
from a2a.server.context import ServerCallContext
from a2a.types import ListTasksRequest, TaskPushNotificationConfig
from a2a_adapters_sql.retention import prune_all

from a2a_adapters import Limits, as_executor
from a2a_adapters.protocol.card import build_card
from a2a_adapters.runtime import Runtime
from a2a_adapters.storage.interface import UsedMessage
from tests.plugins.sql.conftest import new_url, opened, storage_at
from tests.plugins.sql.test_contract import (
    COMPLETED,
    MISSING,
    WORKING,
    caller,
    ids,
    put,
    store_of,
    task,
)
from tests.plugins.sql.test_messages import message

NO_END = 10**9


@pytest.fixture
async def storage(database_url):
    async with opened(database_url) as storage:
        yield storage


async def test_old_tasks_are_deleted(storage):
    store = store_of(storage)
    await put(store, task("old", COMPLETED, second=1))
    await put(store, task("open", WORKING, second=1))
    await put(store, task("new", COMPLETED, second=int(time.time())))
    await put(store_of(storage, "coder"), task("other's", COMPLETED, second=1))
    assert await storage.of("poet").prune(time.time() - 3600, NO_END) == 1
    assert await ids(store) == ["new", "open"]
    assert await ids(store_of(storage, "coder")) == ["other's"]


async def test_excess_tasks_are_deleted_oldest_first(storage):
    store = store_of(storage)
    await put(store, task("open", WORKING, second=1))
    for number in range(2, 12):
        await put(store, task(f"t{number:02}", COMPLETED, second=number))
    assert await storage.of("poet").prune(0, 4) == 6
    assert await ids(store) == ["t11", "t10", "t09", "t08", "open"]
    assert await storage.of("poet").prune(0, 4) == 0


async def test_pruning_takes_several_transactions(storage):
    store = store_of(storage)
    old = (task(f"t{number}", COMPLETED) for number in range(1200))
    await asyncio.gather(*(put(store, each) for each in old), put(store, task("new", second=9)))
    assert await storage.of("poet").prune(5, NO_END) == 1200
    assert await ids(store) == ["new"]


async def test_data_of_a_task_is_deleted_with_it(storage):
    poet = storage.of("poet")
    configs = poet.push_configs
    for name, second in (("old", 1), ("new", int(time.time()) + 60)):
        begun = task(name, second=second)
        version = await poet.accept("ann", f"message-{name}", b"digest", begun)
        config = TaskPushNotificationConfig(id="c", url="http://x")
        await configs.set_info(name, config, caller("ann"))
        await poet.tasks.put(task(name, COMPLETED, second=second), "ann", version, ["c"])
    await poet.write_state("ann", "c", "k", b"state")
    assert await poet.prune(time.time() + 30, NO_END) == 1
    assert await configs.get_info_for_dispatch("old") == []
    assert len(await configs.get_info_for_dispatch("new")) == 1
    again = await poet.accept("ann", "message-new", b"digest", task("again"))
    assert isinstance(again, UsedMessage)
    fresh = await poet.accept("ann", "message-old", b"digest", task("again"))
    assert not isinstance(fresh, UsedMessage)
    assert await poet.read_state("ann", "c", "k") is None
    async with storage.database.engine.connect() as connection:
        rows = await connection.exec_driver_sql("SELECT task FROM a2a_push_outbox")
        assert [row.task for row in rows] == ["new"]


async def test_state_of_the_agent_itself_is_never_deleted(storage):
    poet = storage.of("poet")
    await poet.write_state("ann", "c", "k", b"of a conversation")
    await poet.write_state("", "", "k", b"of the agent")
    await poet.prune(time.time() + 30, NO_END)
    await prune_all(storage.database, time.time_ns())
    assert await poet.read_state("ann", "c", "k") is None
    assert await poet.read_state("", "", "k") == b"of the agent"


async def test_agents_and_owners_of_any_name_are_pruned(storage):
    for name in ("x" * 300, "#hash", "nul\0", "ключ"):
        poet = storage.of(name)
        version = await poet.accept(name, f"message-{name}", b"digest", task())
        config = TaskPushNotificationConfig(id=name, url="http://x")
        await poet.push_configs.set_info("t", config, caller(name))
        await poet.tasks.put(task("t", COMPLETED), name, version, [name])
    assert await prune_all(storage.database, time.time_ns()) == 4
    for name in ("tasks", "messages", "push_configs", "push_outbox"):
        async with storage.database.engine.connect() as connection:
            left = await connection.exec_driver_sql(f"SELECT count(*) FROM a2a_{name}")
            assert left.scalar() == 0, name


def shout(text: str) -> str:
    return text.upper()


async def test_a_server_prunes_by_itself(storage, monkeypatch):
    monkeypatch.setattr("a2a_adapters.runtime.handler.PRUNE_SECONDS", 0.05)
    limits = Limits(stored_tasks=2)
    executor = as_executor(shout)
    card = build_card(executor.adapter.describe(), "http://x")
    runtime = Runtime(executor, card, limits=limits, storage=storage.of("agent"))
    await runtime.start()
    me = ServerCallContext()
    done = [
        await runtime.on_message_send(message("go", f"message-{number}"), me) for number in range(6)
    ]
    async with asyncio.timeout(60):
        while True:
            listed = await runtime.on_list_tasks(ListTasksRequest(), me)
            if listed.total_size == len(listed.tasks) == 2:
                break
            await asyncio.sleep(0.05)
    assert [found.id for found in listed.tasks] == [done[5].id, done[4].id]
    await runtime.aclose()


async def test_of_several_servers_one_prunes_at_a_time(tmp_path):
    url = new_url("postgresql", tmp_path)
    one, other = storage_at(url), storage_at(url)
    await one.start()
    await other.start()
    await put(store_of(one), task("old", COMPLETED), version=MISSING)
    async with one.database.engine.begin() as connection:
        await connection.exec_driver_sql("SELECT pg_advisory_xact_lock(6369890)")
        assert await other.of("poet").prune(time.time(), NO_END) == 0
    assert await other.of("poet").prune(time.time(), NO_END) == 1
    await one.aclose(1)
    await other.aclose(1)


async def test_too_many_tasks_cost_no_conversation(storage):
    poet = storage.of("poet")
    await poet.write_state("ann", "c1", "kind", b"kept")
    for number in range(2, 12):
        await put(poet.tasks, task(f"t{number:02}", COMPLETED, second=int(time.time()) + number))
    assert await poet.prune(0, 4) == 6
    assert await poet.read_state("ann", "c1", "kind") == b"kept"


@pytest.mark.parametrize("owner", ["ann", "#1", "x" * 200])
async def test_a_refused_message_leaves_nothing_behind(storage, owner):
    poet = storage.of("poet")
    refused = task("refused", WORKING)
    context = caller(owner)
    config = TaskPushNotificationConfig(task_id="refused", id="c", url="https://example.com")
    await poet.accept(owner, "message-1", b"digest", refused)
    await poet.push_configs.set_info("refused", config, context)
    await poet.retract(owner, "message-1", "refused")
    listed = await poet.tasks.list(ListTasksRequest(), context)
    assert not listed.tasks
    assert not await poet.push_configs.get_info("refused", context)


async def test_external_data_is_deleted_by_its_plugin(storage):
    poet, forgotten = storage.of("poet"), []

    async def forget(name):
        forgotten.append(name)

    for number in range(3):
        await poet.keep_elsewhere("ann", f"c{number}", "threads", f"thread-{number}")
    await prune_all(storage.database, time.time_ns())
    await poet.prune(time.time(), NO_END)
    assert await poet.read_state("ann", "c0", "elsewhere:threads") == b"thread-0"
    poet.forget_elsewhere("threads", forget)
    await poet.prune(0, NO_END)
    assert forgotten == []
    await poet.prune(time.time(), NO_END)
    assert forgotten == ["thread-0", "thread-1", "thread-2"]
    assert await poet.read_state("ann", "c0", "elsewhere:threads") is None
