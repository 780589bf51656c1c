"""Push notifications survive crashes: delivered at least once and in order."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from uuid import uuid4

import httpx
import pytest
from a2a.server.context import ServerCallContext
from a2a.types import (
    CancelTaskRequest,
    SendMessageRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import A2AError
from sqlalchemy import create_engine, text

from a2a_adapters import Limits, PushOptions, as_executor
from a2a_adapters.protocol.card import build_card
from a2a_adapters.runtime import Runtime
from tests.plugins.sql.conftest import opened, storage_at
from tests.plugins.sql.test_contract import COMPLETED, STRANGE, caller
from tests.support.inbox import OPEN, ask, inbox, notifying, state_in, talk, task_in
from tests.support.processes import launched
from tests.support.requests import call, say
from tests.support.warm import warm

CALLER = ServerCallContext()
ORDER = [
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_COMPLETED",
]

pytestmark = pytest.mark.timeout(300)


def rows(url, statement):
    """Execute a statement and return its rows."""
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        result = connection.execute(text(statement))
        found = result.all() if result.returns_rows else []
    engine.dispose()
    return found


def outbox(url):
    return rows(url, "SELECT * FROM a2a_push_outbox")


async def until(condition):
    async with asyncio.timeout(60):
        while True:
            if condition():
                return
            await asyncio.sleep(0.05)


def states_by_task(bodies):
    """Return the received states by task."""
    notified = {}
    for body in bodies:
        if state := state_in(body):
            notified.setdefault(task_in(body), []).append(state)
    return notified


def notifying_runtime(target, storage, limits=None, **push):
    executor = as_executor(target)
    card = build_card(executor.adapter.describe(), "http://x", push=True)
    options = PushOptions(**{"outbound": OPEN, "pause_seconds": 0.01} | push)
    return Runtime(executor, card, storage=storage.of("agent"), push=options, limits=limits)


@pytest.fixture
async def storage(database_url):
    async with opened(database_url) as storage:
        yield storage


def served(url, folder):
    return warm("-m", "tests.plugins.sql.served", url, str(folder / "effects"))


def kill(process, database_url):
    """Kill a server and expire its lease."""
    process.kill()
    process.ended()
    rows(database_url, "UPDATE a2a_processes SET lease_until = 0")


async def send(http, message_id, hook, **configuration):
    config = {"url": hook, "token": f"token-{message_id}", "id": message_id}
    configuration["taskPushNotificationConfig"] = config
    params = {**say(message_id, messageId=message_id), "configuration": configuration}
    return (await call(http, "SendMessage", params))["result"]["task"]


async def test_undelivered_notifications_are_delivered_after_a_kill(database_url, tmp_path):
    command = served(database_url, tmp_path)
    async with inbox() as box:
        box.is_open.clear()
        with launched(command) as (process, url):
            async with httpx.AsyncClient(base_url=url, timeout=60) as http:
                names = [f"message-{number}" for number in range(12)]
                done = await asyncio.gather(*(send(http, name, box.url) for name in names))
            kill(process, database_url)
        assert {task["status"]["state"] for task in done} == {"TASK_STATE_COMPLETED"}
        assert len(outbox(database_url)) == len(done)
        box.is_open.set()
        with launched(command):
            await until(lambda: not outbox(database_url))
    notified = states_by_task(box.bodies)
    assert set(notified) == {task["id"] for task in done}
    for states in notified.values():
        assert states == sorted(states, key=ORDER.index)
        assert "TASK_STATE_COMPLETED" in states
    assert {headers["x-a2a-notification-token"] for headers in box.headers} == {
        f"token-{name}" for name in names
    }


async def test_receivers_of_an_interrupted_task_get_its_end(database_url, tmp_path):
    command = served(database_url, tmp_path)
    async with inbox() as box:
        with launched(command) as (process, url):
            async with httpx.AsyncClient(base_url=url, timeout=60) as http:
                task = await send(http, "forever", box.url, returnImmediately=True)
            await box.until(lambda bodies: state_in(bodies[-1]) == "TASK_STATE_WORKING")
            kill(process, database_url)
        with launched(command):
            await until(lambda: state_in(box.bodies[-1]) == "TASK_STATE_FAILED")
            await until(lambda: not outbox(database_url))
    assert box.bodies[-1]["task"]["id"] == task["id"]
    assert box.headers[-1]["x-a2a-notification-token"] == "token-forever"


async def test_a_question_and_the_end_are_delivered_in_order(storage, database_url):
    runtime = notifying_runtime(ask, storage)
    async with inbox() as box:
        task = await runtime.on_message_send(notifying(box.url), CALLER)
        # A pending notification is replaced by a newer one.
        await box.until(lambda bodies: state_in(bodies[-1]) == "TASK_STATE_INPUT_REQUIRED")
        box.is_open.clear()
        await runtime.on_cancel_task(CancelTaskRequest(id=task.id), CALLER)
        assert len(outbox(database_url)) == 1
        box.is_open.set()
        await box.until_over()
        await until(lambda: not outbox(database_url))
    states = [state for body in box.bodies if (state := state_in(body))]
    assert [state for state in states if state != "TASK_STATE_WORKING"] == [
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_CANCELED",
    ]
    await runtime.aclose()


async def test_a_dead_receiver_is_given_up_and_delays_no_other(storage, database_url, caplog):
    runtime = notifying_runtime(talk, storage, attempts=3)
    async with inbox() as box, inbox() as refusing:
        refusing.answers = [410]
        for _ in range(5):
            await runtime.on_message_send(notifying("http://127.0.0.1:1/"), CALLER)
        await runtime.on_message_send(notifying(refusing.url, token="secret"), CALLER)
        alive = notifying(box.url)
        alive.configuration.return_immediately = False
        task = await runtime.on_message_send(alive, CALLER)
        await box.until_over()
        await until(lambda: not outbox(database_url))
    assert task.status.state == COMPLETED
    assert "given up" in caplog.text
    assert "secret" not in caplog.text
    await runtime.aclose()


async def test_excess_notifications_are_delivered_later(storage, database_url, monkeypatch):
    monkeypatch.setattr("a2a_adapters.runtime.push.delivery._RECEIVERS_PER_SERVER", 1)
    runtime = notifying_runtime(talk, storage, limits=Limits(sweep_seconds=0.05))
    await runtime.start()
    async with inbox() as box:
        box.is_open.clear()
        sent = [notifying(box.url, f"text {number}") for number in range(3)]
        for request in sent:
            request.configuration.return_immediately = False
        done = [await runtime.on_message_send(request, CALLER) for request in sent]
        box.is_open.set()
        await until(lambda: not outbox(database_url))
    notified = states_by_task(box.bodies)
    assert {notified[task.id][-1] for task in done} == {"TASK_STATE_COMPLETED"}
    await runtime.aclose()


async def test_a_deleted_config_has_no_pending_delivery(storage, database_url):
    runtime = notifying_runtime(ask, storage, attempts=100)
    task = await runtime.on_message_send(notifying("http://127.0.0.1:1/", id="a"), CALLER)
    await until(lambda: outbox(database_url))
    await storage.of("agent").push_configs.delete_info(task.id, CALLER, "a")
    assert outbox(database_url) == []
    await runtime.aclose()


async def test_equal_configs_are_delivered_together(storage, database_url):
    runtime = notifying_runtime(ask, storage, interval_seconds=60)
    async with inbox() as box:
        task = await runtime.on_message_send(notifying(box.url, id="a"), CALLER)
        await until(lambda: len(box.bodies) == 1 and not outbox(database_url))
        twin = TaskPushNotificationConfig(task_id=task.id, id="b", url=box.url)
        await runtime.on_create_task_push_notification_config(twin, CALLER)
        box.is_open.clear()
        await runtime.on_cancel_task(CancelTaskRequest(id=task.id), CALLER)
        assert len(outbox(database_url)) == 2
        box.is_open.set()
        await until(lambda: not outbox(database_url))
    assert len(box.bodies) == 2
    await runtime.aclose()


@pytest.mark.parametrize("text", STRANGE, ids=ascii)
async def test_configs_with_any_name_are_isolated(url, text):
    async with opened(url) as storage:
        store, other = storage.of("poet").push_configs, storage.of("coder").push_configs
        config = TaskPushNotificationConfig(id=text, url="http://x", token=text)
        await store.set_info(text, config, caller("ann"))
        await store.set_info(text, TaskPushNotificationConfig(id="b", url="u"), caller("bob"))
        [found] = await store.get_info(text, caller("ann"))
        assert found == TaskPushNotificationConfig(
            id=text or found.id, task_id=text, url="http://x", token=text
        )
        assert await other.get_info_for_dispatch(text) == []
        assert len(await store.get_info_for_dispatch(text)) == 2
        await store.set_info(text, TaskPushNotificationConfig(id=text, url="new"), caller("ann"))
        assert [each.url for each in await store.get_info(text, caller("ann"))] == ["new"]
        await store.delete_info(text, caller("ann"))
        assert await store.get_info(text, caller("ann")) == []
        assert [each.url for each in await store.get_info_for_dispatch(text)] == ["u"]


async def test_memory_has_no_deliveries_of_other_processes():
    storage = storage_at("memory:")
    runtime = notifying_runtime(ask, storage)
    async with inbox() as box:
        task = await runtime.on_message_send(notifying(box.url), CALLER)
        await box.until(lambda bodies: state_in(bodies[-1]) == "TASK_STATE_INPUT_REQUIRED")
        assert task.status.state in {
            TaskState.TASK_STATE_WORKING,
            TaskState.TASK_STATE_INPUT_REQUIRED,
        }
        assert await storage.of("agent").undelivered() == ()
        await runtime.aclose()


REFUSE = {
    "sqlite": "CREATE TRIGGER {name} BEFORE {event} ON {table} "
    "BEGIN SELECT RAISE(ABORT, 'refused'); END",
    "postgresql": "CREATE TRIGGER {name} BEFORE {event} ON {table} EXECUTE FUNCTION refuse()",
}
FUNCTION = """
CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = 'integrity_constraint_violation'; END$$
"""


def refuse(url, **events):
    """Make a database refuse events on tables; return a function that ends this."""
    engine = url.partition(":")[0]
    if engine == "postgresql":
        rows(url, FUNCTION)
    for table, event in events.items():
        rows(url, REFUSE[engine].format(name=f"refuse_{table}", event=event, table=table))

    def end():
        for table in events:
            on = f" ON {table}" if engine == "postgresql" else ""
            rows(url, f"DROP TRIGGER refuse_{table}{on}")

    return end


async def test_a_message_is_stored_with_its_receiver_or_not_at_all(storage, database_url):
    # A process that dies after storing the message cannot compensate it.
    allow = refuse(database_url, a2a_push_configs="INSERT", a2a_tasks="DELETE")
    runtime = notifying_runtime(talk, storage)
    async with inbox() as box:
        request = notifying(box.url, token="t", id="mine")
        again = SendMessageRequest.FromString(request.SerializeToString())
        with pytest.raises(A2AError):
            await runtime.on_message_send(request, CALLER)
        for table in ("a2a_tasks", "a2a_messages", "a2a_push_configs"):
            assert rows(database_url, f"SELECT * FROM {table}") == []
        allow()
        await runtime.on_message_send(again, CALLER)
        await box.until_over()
    assert len(rows(database_url, "SELECT * FROM a2a_push_configs")) == 1
    await runtime.aclose()


async def test_every_orphaned_task_has_its_receiver(database_url, tmp_path):
    command = served(database_url, tmp_path)
    async with inbox() as box:
        with launched(command) as (process, url):
            names = [uuid4().hex for _ in range(60)]
            answered = asyncio.Event()

            async def one(name):
                with suppress(httpx.HTTPError):
                    await send(http, name, box.url, returnImmediately=True)
                    answered.set()

            async with httpx.AsyncClient(base_url=url, timeout=60) as http:
                sending = asyncio.gather(*map(one, names))
                await answered.wait()
                kill(process, database_url)
                await sending
        begun = {row.task for row in rows(database_url, "SELECT task FROM a2a_messages")}
        assert begun
        configs = rows(database_url, "SELECT task, config FROM a2a_push_configs")
        stored = {row.task: row.config for row in configs}
        assert set(stored) == begun
        with launched(command) as (_, url):
            async with httpx.AsyncClient(base_url=url, timeout=60) as http:
                again = {
                    name: await send(http, name, box.url, returnImmediately=True)
                    for name in stored.values()
                }
            await until(lambda: not outbox(database_url))
    assert {task["id"]: name for name, task in again.items()} == stored
    notified = states_by_task(box.bodies)
    assert set(notified) == set(stored)
    assert {states[-1] for states in notified.values()} <= {
        "TASK_STATE_COMPLETED",
        "TASK_STATE_FAILED",
    }
