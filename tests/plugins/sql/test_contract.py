"""Behaviour common to all engines."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack

import pytest
from a2a.auth.user import User
from a2a.server.cluster.task_store import (
    LegacyTaskStoreAdapter,
    VersionedTaskStore,
)
from a2a.server.cluster.version import TaskVersion
from a2a.server.context import ServerCallContext
from a2a.types import (
    Artifact,
    ListTasksRequest,
    Part,
    Task,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
)
from a2a.utils.errors import InvalidParamsError
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Value
from google.protobuf.timestamp_pb2 import Timestamp

from a2a_adapters.storage.interface import UsedMessage
from tests.plugins.sql.conftest import storage_at

WORKING, COMPLETED = TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_COMPLETED
CANCELED = TaskState.TASK_STATE_CANCELED
MISSING = TaskVersion.MISSING

STRANGE = [
    "x",
    "",
    "nul \0 inside",
    "#hash",
    "\\0",
    "a" * 5000,
    "a" * 5001,
    "ключ 鍵 🔑",
    "'; DROP TABLE a2a_tasks; --",
    "%_",
]


class Named(User):
    def __init__(self, name):
        self.name = name

    @property
    def is_authenticated(self):
        return True

    @property
    def user_name(self):
        return self.name


ON_DATABASES = pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
"""Only there may another process retract what this one has told."""


def caller(name="ann"):
    return ServerCallContext(user=Named(name))


def task(task_id="t", state=WORKING, *, context="c", second=1):
    status = TaskStatus(state=state, timestamp=Timestamp(seconds=second))
    return Task(id=task_id, context_id=context, status=status)


def store_of(storage, agent="poet"):
    store = storage.of(agent).tasks
    return store if isinstance(store, VersionedTaskStore) else LegacyTaskStoreAdapter(store)


async def put(store, stored, name="ann", version=MISSING):
    return await store.save(
        stored, event=None, prev=None, prev_version=version, context=caller(name)
    )


async def ids(store, name="ann", **wanted):
    listed = await store.list(ListTasksRequest(**wanted), caller(name))
    return [found.id for found in listed.tasks]


async def test_tasks_round_trip(storage):
    store = store_of(storage)
    values = {
        "whole": 2**53 - 1,
        "half": 0.5,
        "list": [1, None, True, "\u2028"],
        "nested": {"": {}},
    }
    stored = task()
    stored.artifacts.append(
        Artifact(
            artifact_id="a", parts=[Part(data=ParseDict(values, Value())), Part(raw=b"\0\xff")]
        )
    )
    stored.metadata.update({"n": 3})
    await put(store, stored)
    assert (await store.get("t", caller())).task == stored


@pytest.mark.parametrize("text", STRANGE, ids=ascii)
async def test_any_string_is_an_id_a_context_and_an_owner(storage, text):
    store = store_of(storage)
    await put(store, task(text, context=text), text)
    await put(store, task("other", context="other"), text)
    assert (await store.get(text, caller(text))).task.id == text
    assert await ids(store, text, context_id=text) == ([text] if text else ["other", ""])
    assert await store.get(text, caller(text + "!")) is None


async def test_owners_and_agents_are_isolated(storage):
    poet, coder = store_of(storage, "poet"), store_of(storage, "coder")
    await put(poet, task(context="anns"), "ann")
    await put(poet, task(context="bobs"), "bob")
    await put(coder, task(context="coders"), "ann")
    assert (await poet.get("t", caller("ann"))).task.context_id == "anns"
    assert (await poet.get("t", caller("bob"))).task.context_id == "bobs"
    assert (await coder.get("t", caller("ann"))).task.context_id == "coders"
    await poet.delete("t", caller("ann"))
    assert await ids(poet, "ann") == []
    assert await ids(poet, "bob") == ["t"]
    assert await ids(coder, "ann") == ["t"]


async def test_tasks_are_listed_newest_first_by_pages(storage):
    store = store_of(storage)
    for number in range(25):
        await put(store, task(f"t{number:02}", second=100 + number // 2))
    newest = [f"t{number:02}" for number in reversed(range(25))]
    seen, token = [], ""
    while True:
        page = await store.list(ListTasksRequest(page_size=10, page_token=token), caller())
        assert page.total_size == 25
        seen += [found.id for found in page.tasks]
        if not (token := page.next_page_token):
            break
    assert seen == newest


async def test_a_page_continues_after_the_last_one_despite_changes(storage):
    store = store_of(storage)
    for number in range(6):
        await put(store, task(f"t{number}", second=number + 1))
    first = await store.list(ListTasksRequest(page_size=2), caller())
    await store.delete("t4", caller())
    await put(store, task("new", second=99))
    second = await store.list(
        ListTasksRequest(page_size=9, page_token=first.next_page_token), caller()
    )
    assert [found.id for found in second.tasks] == ["t3", "t2", "t1", "t0"]


async def test_lists_are_filtered(storage):
    store = store_of(storage)
    await put(store, task("a", WORKING, context="x", second=1))
    await put(store, task("b", COMPLETED, context="x", second=2))
    await put(store, task("c", COMPLETED, context="y", second=3))
    assert await ids(store, context_id="x") == ["b", "a"]
    assert await ids(store, status=COMPLETED) == ["c", "b"]
    assert await ids(store, status_timestamp_after=Timestamp(seconds=2)) == ["c", "b"]
    assert await ids(store, status=COMPLETED, context_id="x") == ["b"]


async def test_an_invalid_page_token_is_refused(storage):
    with pytest.raises(InvalidParamsError):
        await store_of(storage).list(ListTasksRequest(page_token="nonsense"), caller())


async def test_a_message_starts_one_task(storage):
    agent = storage.of("poet")
    first = await agent.accept("ann", "m", b"digest", task("one"))
    assert isinstance(first, TaskVersion)
    assert await agent.accept("ann", "m", b"other", task("two")) == UsedMessage("one", b"digest")
    assert isinstance(await agent.accept("bob", "m", b"", task("three")), TaskVersion)
    assert isinstance(await storage.of("coder").accept("ann", "m", b"", task("four")), TaskVersion)


async def test_a_repeated_message_changes_no_config(storage):
    agent = storage.of("poet")
    configs = [
        TaskPushNotificationConfig(id="a", task_id=name, url=name) for name in ("one", "two")
    ]
    for config in configs:
        await agent.accept("ann", "m", b"digest", task(config.task_id), config)
    assert await agent.push_configs.get_info("one", caller("ann")) == configs[:1]
    assert await agent.push_configs.get_info_for_dispatch("two") == []
    await agent.retract("ann", "m", "one")
    assert await agent.push_configs.get_info_for_dispatch("one") == []


@ON_DATABASES
async def test_a_task_that_a_caller_was_told_of_is_not_retracted(storage):
    agent = storage.of("poet")
    await agent.accept("ann", "m", b"digest", task("one"))
    assert await agent.acknowledge("ann", "m", "one")
    await agent.retract("ann", "m", "one")
    assert await agent.accept("ann", "m", b"digest", task("two")) == UsedMessage("one", b"digest")
    assert await store_of(storage).get("one", caller("ann"))


@ON_DATABASES
async def test_a_retracted_task_is_not_told(storage):
    agent = storage.of("poet")
    await agent.accept("ann", "m", b"digest", task("one"))
    await agent.retract("ann", "m", "one")
    assert not await agent.acknowledge("ann", "m", "one")


async def test_concurrent_repeats_start_one_task(storage):
    agent = storage.of("poet")
    results = await asyncio.gather(
        *(agent.accept("ann", "m", b"digest", task(f"t{number}")) for number in range(20))
    )
    used = {found.task_id for found in results if isinstance(found, UsedMessage)}
    assert len(used) == 1
    assert sum(isinstance(found, TaskVersion) for found in results) == 1


async def test_states_of_contexts_are_isolated(storage):
    poet, coder = storage.of("poet"), storage.of("coder")
    places = [(poet, "ann", "c", "k"), (poet, "bob", "c", "k"), (poet, "ann", "d", "k")]
    places += [(poet, "ann", "c", "other"), (coder, "ann", "c", "k")]
    for number, (agent, *place) in enumerate(places):
        await agent.write_state(*place, str(number).encode())
    for number, (agent, *place) in enumerate(places):
        assert await agent.read_state(*place) == str(number).encode()
    await poet.write_state("ann", "c", "k", None)
    assert await poet.read_state("ann", "c", "k") is None
    assert await poet.read_state("bob", "c", "k") == b"1"


async def test_a_state_is_swapped_only_for_the_expected_value(storage):
    agent, other = storage.of("poet"), storage.of("other")
    place = ("ann", "c", "k")
    assert await agent.swap_state(*place, None, b"1")
    assert not await agent.swap_state(*place, None, b"2")
    assert not await agent.swap_state(*place, b"0", b"2")
    assert await agent.swap_state(*place, b"1", b"2")
    assert await agent.swap_state(*place, b"1", b"2"), "a repeated one is stored already"
    assert await agent.read_state(*place) == b"2"
    assert await other.read_state(*place) is None
    await agent.write_state(*place, None)
    assert not await agent.swap_state(*place, b"2", b"3")
    assert await agent.swap_state(*place, None, b"3")


async def test_of_concurrent_swaps_one_wins(url):
    async with AsyncExitStack() as stack:
        processes = 2 if url.startswith("postgresql") else 1
        storages = [storage_at(url) for _ in range(processes)]
        for each in storages:
            await each.start()
            stack.push_async_callback(each.aclose, 5)
        agents = [each.of("poet") for each in storages]

        async def add(number):
            agent = agents[number % processes]
            while True:
                before = await agent.read_state("", "", "k")
                numbers = [*json.loads(before or b"[]"), number]
                if await agent.swap_state("", "", "k", before, json.dumps(numbers).encode()):
                    return

        await asyncio.gather(*map(add, range(20)))
        found = json.loads(await agents[0].read_state("", "", "k"))
    assert sorted(found) == list(range(20))


async def test_a_state_is_replaced(storage):
    agent = storage.of("poet")
    await agent.write_state("ann", "c", "k", b"1")
    await agent.write_state("ann", "c", "k", b"\0\xff")
    assert await agent.read_state("ann", "c", "k") == b"\0\xff"
