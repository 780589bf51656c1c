"""Push notifications: real receivers, real requests."""

from __future__ import annotations

import asyncio
from collections import Counter

import httpx
import pytest
from a2a.types import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from google.protobuf.json_format import MessageToDict
from starlette.responses import RedirectResponse, Response, StreamingResponse

from a2a_adapters import (
    Limits,
    OutboundPolicy,
    Progress,
    PushOptions,
    ServerOptions,
    TextDelta,
    build_app,
)
from a2a_adapters.plugin import PROGRESS_EXTENSION, Adapter, AgentDescription
from a2a_adapters.runtime.updates import Update
from a2a_adapters.testing import answer_of, connect, running, send, stream, user_message
from tests.support.inbox import (
    OPEN,
    agent,
    ask,
    heard_by,
    inbox,
    notifying,
    state_in,
    talk,
    task_in,
    text_in,
)


async def test_a_receiver_gets_every_update_in_order():
    async with inbox() as box, agent(heard_by(box)) as client:
        authentication = AuthenticationInfo(scheme="Bearer", credentials="abc.def")
        request = notifying(box.url, "one two three", token="t0", authentication=authentication)
        task = await send(client, request)
        await box.until_over()
    first, *chunks, last = box.bodies
    assert first["task"]["id"] == task.id
    assert first["task"]["status"]["state"] == "TASK_STATE_WORKING"
    assert chunks
    assert all("artifactUpdate" in chunk for chunk in chunks)
    assert last["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert text_in([first, *chunks]) == text_in([last]) == "one two three " == answer_of(task)
    for headers in box.headers:
        assert headers["x-a2a-notification-token"] == "t0"
        assert headers["authorization"] == "Bearer abc.def"
        assert headers["content-type"] == "application/a2a+json"


async def test_a_slow_receiver_delays_neither_the_agent_nor_other_receivers():
    words = " ".join(f"word{n}" for n in range(300))
    async with inbox() as slow, inbox() as quick, agent(talk) as client:
        slow.is_open.clear()
        events = await stream(client, notifying(slow.url, words, id="slow"))
        assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
        events = await stream(client, notifying(quick.url, words, id="quick"))
        await quick.until_over()
        assert slow.bodies == []
        slow.is_open.set()
        await slow.until_over()
    assert text_in(slow.bodies) == text_in(quick.bodies) == f"{words} "
    assert len(slow.bodies) < 10, "what has queued up goes together"


async def test_a_notification_is_retried_until_it_is_accepted():
    async with inbox() as box, agent(heard_by(box)) as client:
        box.answers = [503, 429, 200, 500, 200]
        await send(client, notifying(box.url, "one two"))
        await box.until_over()
    assert box.bodies[0] == box.bodies[1] == box.bodies[2]
    assert box.bodies[3] == box.bodies[4] != box.bodies[0]
    assert text_in(box.bodies[4:]) == "one two "


async def test_pauses_between_retries_are_limited():
    pauses = {"pause_seconds": 3600, "longest_pause_seconds": 0.01}
    async with inbox() as box, agent(talk, **pauses) as client:
        box.answers = [503, 503, 200]
        await send(client, notifying(box.url, "one two"))
        await box.until(lambda bodies: len(bodies) == 3)
    assert box.bodies[0] == box.bodies[1] == box.bodies[2]


async def test_missed_updates_are_replaced_by_the_whole_task():
    async with inbox() as box, agent(heard_by(box), attempts=2) as client:
        box.answers = [503, 503]
        task = await send(client, notifying(box.url, "one two"))
        await box.until_over()
    assert box.bodies[0] == box.bodies[1]
    assert box.bodies[2]["task"]["id"] == task.id
    assert text_in(box.bodies) == "one two "


async def test_a_receiver_that_fell_too_far_behind_gets_the_whole_task():
    async with inbox() as box, agent(talk, waiting_updates=3) as client:
        box.is_open.clear()
        await send(client, notifying(box.url, "one two three four five six"))
        box.is_open.set()
        await box.until_over()
    assert len(box.bodies) <= 4
    assert any(body.get("task", {}).get("artifacts") for body in box.bodies)
    assert text_in(box.bodies) == "one two three four five six "


@pytest.mark.parametrize("answer", [400, 401, 404, 410, RedirectResponse("/elsewhere", 307)])
async def test_a_receiver_that_refuses_gets_nothing_more(answer, caplog):
    async with inbox() as box, agent(talk) as client:
        box.answers = [answer]
        await send(client, notifying(box.url, "one two", token="secret"))
        await send(client, notifying(box.url, "next", id="again"))
        await box.until_over()
    refused, *others = box.bodies
    assert all(body["task"]["id"] != refused["task"]["id"] for body in others if "task" in body)
    assert "refused" in caplog.text
    assert "secret" not in caplog.text
    assert "/hook" not in caplog.text


async def test_an_unreachable_receiver_is_given_up(caplog):
    async with agent(talk, attempts=3) as client:
        task = await send(client, notifying("http://127.0.0.1:1/hook"))
        assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert f"task {task.id} to 127.0.0.1 given up: ConnectError" in caplog.text


async def test_cookies_are_dropped_and_endless_answers_not_read():
    async def endless():
        while True:
            yield b"x" * 10_000
            await asyncio.sleep(0)

    async with inbox() as box, agent(talk) as client:
        cookie = Response(headers={"Set-Cookie": "who=somebody"})
        box.answers = [cookie, StreamingResponse(endless())]
        await send(client, notifying(box.url, "one two"))
        await box.until_over()
    assert not any("cookie" in headers for headers in box.headers)


async def test_a_receiver_that_becomes_private_gets_nothing(caplog):
    addresses = [["93.184.215.14"], ["127.0.0.1"]]

    async def rebinding(host, port):
        return addresses.pop(0) if len(addresses) > 1 else addresses[0]

    async with inbox() as box, agent(talk, outbound=OutboundPolicy(resolver=rebinding)) as client:
        port = httpx.URL(box.url).port
        task = await send(client, notifying(f"http://rebind.example:{port}/hook"))
        assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert box.bodies == []
    assert "refused: rebind.example has the private address" in caplog.text


async def test_receivers_follow_a_task_through_its_questions():
    async with inbox() as box, agent(ask) as client:
        task = await send(client, notifying(box.url))
        assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        await box.until(lambda bodies: state_in(bodies[-1]) == "TASK_STATE_INPUT_REQUIRED")
        await send(client, user_message("Rome", task_id=task.id))
        await box.until_over()
    states = [state for body in box.bodies if (state := state_in(body))]
    assert [state for state in states if state != "TASK_STATE_WORKING"] == [
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_COMPLETED",
    ]
    assert text_in(box.bodies) == "Off to Rome"


async def test_receivers_get_a_cancellation():
    async with inbox() as box, agent(ask) as client:
        task = await send(client, notifying(box.url))
        await client.cancel_task(CancelTaskRequest(id=task.id))
        await box.until_over()
    assert state_in(box.bodies[-1]) == "TASK_STATE_CANCELED"


async def test_nothing_is_sent_after_a_config_was_deleted():
    async with inbox() as box, agent(ask, attempts=100) as client:
        box.answers = [503] * 100
        task = await send(client, notifying(box.url, id="a"))
        await box.until(lambda bodies: len(bodies) >= 3)
        await client.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="a")
        )
        before = len(box.bodies)
        box.answers.clear()
        await send(client, user_message("Rome", task_id=task.id))
        other = await send(client, notifying(box.url))
        await box.until(lambda bodies: task_in(bodies[-1]) == other.id)
    late = [b for b in box.bodies[before:] if "task" in b and b["task"]["id"] == task.id]
    assert len(late) <= 1  # it may have been in transit


async def test_a_changed_url_gets_the_undelivered_state():
    async with inbox() as old, inbox() as new, agent(talk) as client:
        old.is_open.clear()
        task = await send(client, notifying(old.url, "one two", id="a"))
        await client.create_task_push_notification_config(
            TaskPushNotificationConfig(task_id=task.id, id="a", url=new.url)
        )
        await new.until_over()
    assert text_in(new.bodies) == "one two "


async def test_shutdown_waits_for_notifications_under_way():
    async with inbox() as box:
        async with agent(talk) as client:
            box.answers = [503, 503]
            await send(client, notifying(box.url, "one two"))
        assert state_in(box.bodies[-1]) == "TASK_STATE_COMPLETED"


async def test_shutdown_drops_late_notifications(caplog):
    limits = Limits(shutdown_seconds=0.05)
    async with inbox() as box:
        box.is_open.clear()
        async with agent(talk, limits=limits) as client:
            await send(client, notifying(box.url, "one two"))
    assert "1 receivers did not get all notifications" in caplog.text


async def test_progress_is_not_pushed():
    class Busy(Adapter):
        def describe(self):
            return AgentDescription(name="Busy", description="Works.")

        async def stream(self, request):
            yield Progress("halfway")
            yield TextDelta("done")

    options = ServerOptions(push=PushOptions(outbound=OPEN))
    async with (
        inbox() as box,
        running(build_app(Busy(), options=options)) as url,
        connect(url, extensions=(PROGRESS_EXTENSION,)) as client,
    ):
        events = await stream(client, notifying(box.url))
        await box.until_over()
    assert "halfway" in str(events)
    assert "halfway" not in str(box.bodies)
    assert text_in(box.bodies) == "done"


async def test_surplus_receivers_at_one_server_are_notified_later(monkeypatch, caplog):
    monkeypatch.setattr("a2a_adapters.runtime.push.delivery._RECEIVERS_PER_SERVER", 1)
    limits = Limits(sweep_seconds=0.05)
    async with inbox() as box, agent(talk, limits=limits) as client:
        box.is_open.clear()
        first = await send(client, notifying(box.url, "first"))
        second = await send(client, notifying(box.url, "second"))
        assert f"task {second.id}: too much to send to notify 127.0.0.1" in caplog.text
        box.is_open.set()
        await box.until(lambda bodies: task_in(bodies[-1]) == second.id)
    assert state_in(box.bodies[-1]) == "TASK_STATE_COMPLETED"
    assert {task_in(body) for body in box.bodies} == {first.id, second.id}


async def add_receivers(client, task, url, tokens):
    """Give a task a config for each token."""
    for number, token in enumerate(tokens):
        config = TaskPushNotificationConfig(
            task_id=task.id, id=f"config-{number}", url=url, token=token
        )
        await client.create_task_push_notification_config(config)


@pytest.mark.parametrize(
    ("tokens", "requests"), [(["same"] * 10, 1), ([f"token-{n}" for n in range(10)], 10)]
)
async def test_a_message_makes_one_request_for_each_receiver(tokens, requests):
    async with inbox() as box, agent(ask, interval_seconds=60) as client:
        task = await send(client, user_message("hello"))
        await add_receivers(client, task, box.url, tokens)
        await box.until(lambda bodies: len(bodies) == requests)
        await send(client, user_message("Rome", task_id=task.id))
        await box.until(lambda bodies: len(bodies) == 2 * requests)
    states = Counter(state_in(body) for body in box.bodies)
    assert states == {"TASK_STATE_INPUT_REQUIRED": requests, "TASK_STATE_COMPLETED": requests}
    assert {headers["x-a2a-notification-token"] for headers in box.headers} == set(tokens)
    assert box.most <= 8


async def test_a_receiver_is_notified_while_one_of_its_configs_remains():
    async with inbox() as box, agent(ask, interval_seconds=60) as client:
        task = await send(client, user_message("hello"))
        await add_receivers(client, task, box.url, ["same"] * 2)
        await box.until(lambda bodies: len(bodies) == 1)
        unwanted = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="config-0")
        await client.delete_task_push_notification_config(unwanted)
        await send(client, user_message("Rome", task_id=task.id))
        await box.until_over()
    assert len(box.bodies) == 2


async def test_an_unserializable_update_is_logged_and_replaced(monkeypatch, caplog):
    failures = [ValueError("odd")]

    def fail_once(self):
        if failures:
            raise failures.pop()
        return json_of(self)

    json_of = Update.json
    monkeypatch.setattr(Update, "json", fail_once)
    options = ServerOptions(push=PushOptions(outbound=OPEN))
    async with (
        inbox() as box,
        running(build_app(ask, options=options)) as url,
        connect(url) as client,
        httpx.AsyncClient(base_url=url, headers={"A2A-Version": "1.0"}, timeout=60) as http,
    ):
        sent = MessageToDict(notifying(box.url))
        task = (await http.post("/message:send", json=sent)).json()["task"]
        async with asyncio.timeout(60):
            while True:
                if "notifying 127.0.0.1 failed" in caplog.text:
                    break
                await asyncio.sleep(0.01)
        await client.cancel_task(CancelTaskRequest(id=task["id"]))
        await box.until_over()
    assert box.bodies[-1]["task"]["id"] == task["id"]


class Lost(httpx.AsyncBaseTransport):
    """Waits forever, and fails when it is cancelled; only in its first run."""

    def __init__(self):
        self.begun = asyncio.Event()
        self.tries = 0

    async def handle_async_request(self, request):
        self.tries += 1
        if self.tries > 1:
            await asyncio.Event().wait()
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            raise httpx.ReadError("lost") from error


async def test_a_delivery_that_fails_on_cancellation_is_not_retried():
    lost = Lost()

    class Losing(OutboundPolicy):
        def transport(self, *_, **__):
            return lost

    limits = Limits(shutdown_seconds=0)
    async with agent(talk, limits=limits, outbound=Losing(allow_private=True)) as client:
        await send(client, notifying("http://127.0.0.1:9/hook"))
        await lost.begun.wait()
    assert lost.tries == 1
