"""Push notifications: real receivers, real requests."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import grpc
import httpx
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.compat.v0_3.a2a_v0_3_pb2_grpc import A2AServiceStub as OldStub
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore
from a2a.types import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    SendMessageConfiguration,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.types.a2a_pb2_grpc import A2AServiceStub
from a2a.utils.errors import (
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotFoundError,
)
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from a2a_adapters import (
    PROGRESS_EXTENSION,
    Adapter,
    AgentDescription,
    InputRequired,
    InvalidInputError,
    Limits,
    OutboundPolicy,
    Progress,
    PushOptions,
    Reply,
    ServerOptions,
    Text,
    TextDelta,
    build_app,
)
from a2a_adapters.runtime.updates import Update
from a2a_adapters.testing import answer_of, connect, running, send, stream, user_message
from tests.bindings.support import grpc_port

OPEN = OutboundPolicy(allow_private=True)
BINDINGS = ["JSONRPC", "HTTP+JSON"]


class Inbox:
    """A web server that keeps what it is sent, and answers as it is told."""

    def __init__(self):
        self.url = ""
        self.headers = []
        self.bodies = []
        self.answers = []
        self.is_open = asyncio.Event()
        self.is_open.set()
        self._news = asyncio.Condition()

    async def receive(self, request):
        body = json.loads(await request.body())
        await self.is_open.wait()
        async with self._news:
            self.headers.append(request.headers)
            self.bodies.append(body)
            self._news.notify_all()
        answer = self.answers.pop(0) if self.answers else 200
        return Response(status_code=answer) if isinstance(answer, int) else answer

    async def until(self, condition):
        async with asyncio.timeout(5), self._news:
            await self._news.wait_for(lambda: self.bodies and condition(self.bodies))

    async def until_over(self):
        await self.until(lambda bodies: state_in(bodies[-1]) in OVER)


OVER = {"TASK_STATE_COMPLETED", "TASK_STATE_CANCELED", "TASK_STATE_FAILED", "completed"}


def state_in(body):
    """Return the state of the task that a notification tells, None if it tells none."""
    for told in (body.get("task"), body.get("statusUpdate"), body):
        if told and "status" in told:
            return told["status"]["state"]
    return None


def text_in(bodies):
    """Return the text that a receiver of all these notifications has."""
    text = ""
    for body in bodies:
        if "artifactUpdate" in body:
            update = body["artifactUpdate"]
            chunk = "".join(part.get("text", "") for part in update["artifact"]["parts"])
            text = text + chunk if update.get("append") else chunk
        elif body.get("task", {}).get("artifacts"):
            text = body["task"]["artifacts"][0]["parts"][0]["text"]
    return text


@asynccontextmanager
async def inbox():
    box = Inbox()
    async with running(Starlette(routes=[Route("/hook", box.receive, methods=["POST"])])) as url:
        box.url = f"{url}/hook"
        try:
            yield box
        finally:
            box.is_open.set()


@asynccontextmanager
async def agent(target, binding="JSONRPC", *, user="", limits=None, task_store=None, **push):
    options = ServerOptions(
        push=PushOptions(**{"outbound": OPEN, "pause_seconds": 0.01} | push),
        limits=limits or Limits(),
        task_store=task_store,
    )
    async with (
        running(build_app(target, options=options)) as url,
        connect(url, binding=binding, user=user) as client,
    ):
        yield client


def notifying(url, text="hello", **fields):
    request = user_message(text)
    config = TaskPushNotificationConfig(url=url, **fields)
    request.configuration.CopyFrom(
        SendMessageConfiguration(task_push_notification_config=config, return_immediately=True)
    )
    return request


async def talk(text):
    for word in text.split():
        yield f"{word} "


async def ask(text):
    answer = yield InputRequired("Which city?")
    yield f"Off to {answer.text}"


async def test_a_receiver_is_told_everything_in_order():
    async with inbox() as box, agent(talk) as client:
        authentication = AuthenticationInfo(scheme="Bearer", credentials="abc.def")
        request = notifying(box.url, "one two three", token="t0", authentication=authentication)
        task = await send(client, request)
        await box.until_over()
    first, *chunks, last = box.bodies
    assert first["task"]["id"] == task.id
    assert first["task"]["status"]["state"] == "TASK_STATE_WORKING"
    assert all("artifactUpdate" in chunk for chunk in chunks)
    assert chunks[-1]["artifactUpdate"]["lastChunk"] is True
    assert last["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert text_in(box.bodies) == "one two three " == answer_of(task)
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


async def test_a_notification_is_sent_again_until_it_is_taken():
    async with inbox() as box, agent(talk) as client:
        box.answers = [503, 429, 200, 500, 200]
        await send(client, notifying(box.url, "one two"))
        await box.until_over()
    assert box.bodies[0] == box.bodies[1] == box.bodies[2]
    assert box.bodies[3] == box.bodies[4] != box.bodies[0]
    assert text_in(box.bodies[4:]) == "one two "


async def test_what_a_receiver_missed_is_made_up_by_the_whole_task():
    async with inbox() as box, agent(talk, attempts=2) as client:
        box.is_open.clear()
        box.answers = [503, 503]
        task = await send(client, notifying(box.url, "one two"))
        box.is_open.set()
        await box.until_over()
    assert len(box.bodies) == 3
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
async def test_a_receiver_that_refuses_is_left_in_peace(answer, caplog):
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


async def test_a_receiver_that_is_not_there_is_given_up(caplog):
    async with agent(talk, attempts=3) as client:
        task = await send(client, notifying("http://127.0.0.1:1/hook"))
        assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert f"task {task.id} to 127.0.0.1 given up: ConnectError" in caplog.text


async def test_cookies_are_not_kept_and_endless_answers_not_read():
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


@pytest.mark.parametrize("binding", BINDINGS)
async def test_configs_are_set_read_listed_and_deleted(binding):
    async with inbox() as box, agent(ask, binding) as client:
        task = await send(client, user_message("hello"))
        first = TaskPushNotificationConfig(task_id=task.id, id="a", url=box.url, token="t")
        created = await client.create_task_push_notification_config(first)
        assert created == first
        second = TaskPushNotificationConfig(task_id=task.id, url=box.url)
        created = await client.create_task_push_notification_config(second)
        assert created.id == task.id, "as a2a-sdk has it"

        wanted = GetTaskPushNotificationConfigRequest(task_id=task.id, id="a")
        assert await client.get_task_push_notification_config(wanted) == first
        everything = ListTaskPushNotificationConfigsRequest(task_id=task.id)
        listed = await client.list_task_push_notification_configs(everything)
        assert [config.id for config in listed.configs] == ["a", task.id]

        for _ in range(2):
            unwanted = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="a")
            await client.delete_task_push_notification_config(unwanted)
        with pytest.raises(TaskNotFoundError):
            await client.get_task_push_notification_config(wanted)
        if binding == "JSONRPC":  # over HTTP+JSON that is the address of the list
            nameless = GetTaskPushNotificationConfigRequest(task_id=task.id)
            with pytest.raises(InvalidParamsError):
                await client.get_task_push_notification_config(nameless)
        listed = await client.list_task_push_notification_configs(everything)
        assert [config.id for config in listed.configs] == [task.id]

        await send(client, user_message("Rome", task_id=task.id))
        await box.until_over()
    assert not any("x-a2a-notification-token" in headers for headers in box.headers)
    assert [body["task"]["id"] for body in box.bodies if "task" in body] == [task.id]


async def test_configs_belong_to_the_owner_of_the_task():
    async with inbox() as box:
        options = ServerOptions(push=PushOptions(outbound=OPEN))
        async with (
            running(build_app(ask, options=options)) as url,
            connect(url, user="ann") as ann,
            connect(url, user="bob") as bob,
        ):
            task = await send(ann, notifying(box.url, id="a"))
            theirs = TaskPushNotificationConfig(task_id=task.id, id="b", url=box.url)
            request = {"task_id": task.id, "id": "a"}
            for call in (
                bob.create_task_push_notification_config(theirs),
                bob.get_task_push_notification_config(
                    GetTaskPushNotificationConfigRequest(**request)
                ),
                bob.list_task_push_notification_configs(
                    ListTaskPushNotificationConfigsRequest(task_id=task.id)
                ),
                bob.delete_task_push_notification_config(
                    DeleteTaskPushNotificationConfigRequest(**request)
                ),
            ):
                with pytest.raises(TaskNotFoundError):
                    await call
            asked = GetTaskPushNotificationConfigRequest(**request)
            assert (await ann.get_task_push_notification_config(asked)).url == box.url


async def test_a_task_has_so_many_configs_at_most():
    async with agent(ask, configs_per_task=2) as client:
        task = await send(client, user_message("hello"))

        async def add(name, url="http://127.0.0.1:1/"):
            config = TaskPushNotificationConfig(task_id=task.id, id=name, url=url)
            await client.create_task_push_notification_config(config)

        await add("a")
        await add("b")
        await add("a", "http://127.0.0.1:2/")
        with pytest.raises(InvalidParamsError, match="2 push notification configs at most"):
            await add("c")


@pytest.mark.parametrize(
    "fields",
    [
        {"url": "ftp://example.org/"},
        {"url": "http://ann:secret@example.org/"},
        {"url": "no url"},
        {"url": ""},
        {"url": "http://169.254.169.254/latest/meta-data"},
        {"url": "http://example.org/" + "x" * 3000},
        {"token": "a\r\nX-Injected: b"},
        {"token": "ä"},
        {"authentication": AuthenticationInfo(scheme="Bearer", credentials="a\nb")},
        {"authentication": AuthenticationInfo(scheme="Bea\nrer", credentials="a")},
        {"id": "x" * 3000},
    ],
)
async def test_bad_configs_are_refused_and_start_nothing(fields):
    fields = {"url": "http://127.0.0.1:1/"} | fields
    calls = []

    def note(text):
        calls.append(text)

    async with agent(note) as client:
        with pytest.raises(InvalidParamsError) as caught:
            await stream(client, notifying(**fields))
        assert "secret" not in str(caught.value)
    assert calls == []


async def test_private_receivers_are_refused_by_default():
    async with inbox() as box, agent(ask, outbound=OutboundPolicy()) as client:
        for url in (box.url, "http://localhost/", "http://10.0.0.1/", "http://[::1]/"):
            with pytest.raises(InvalidParamsError, match="may connect to") as caught:
                await stream(client, notifying(url))
            assert "127.0.0.1" not in str(caught.value), "nothing about the network here is told"
        task = await send(client, user_message("hello"))
        with pytest.raises(InvalidParamsError):
            await client.create_task_push_notification_config(
                TaskPushNotificationConfig(task_id=task.id, url=box.url)
            )
    assert box.bodies == []


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


@pytest.mark.parametrize("push", [None, PushOptions()])
async def test_offered_only_when_asked_for(push):
    app = build_app(talk, options=ServerOptions(push=push))
    async with running(app) as url, connect(url) as client, httpx.AsyncClient() as http:
        card = (await http.get(f"{url}/.well-known/agent-card.json")).json()
        assert card["capabilities"].get("pushNotifications", False) is (push is not None)
        if push is None:
            with pytest.raises(PushNotificationNotSupportedError):
                await stream(client, notifying("http://127.0.0.1:1/"))


async def test_receivers_follow_a_task_through_its_questions():
    async with inbox() as box, agent(ask) as client:
        task = await send(client, notifying(box.url))
        assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        await box.until(lambda bodies: state_in(bodies[-1]) == "TASK_STATE_INPUT_REQUIRED")
        await send(client, user_message("Rome", task_id=task.id))
        await box.until_over()
    states = [state for body in box.bodies if (state := state_in(body))]
    assert states == [
        "TASK_STATE_WORKING",
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_WORKING",
        "TASK_STATE_COMPLETED",
    ]
    assert text_in(box.bodies) == "Off to Rome"


async def test_receivers_are_told_of_a_cancellation():
    async with inbox() as box, agent(ask) as client:
        task = await send(client, notifying(box.url))
        await client.cancel_task(CancelTaskRequest(id=task.id))
        await box.until_over()
    assert state_in(box.bodies[-1]) == "TASK_STATE_CANCELED"


async def test_stored_receivers_outlive_the_server():
    stores = {"task_store": InMemoryTaskStore(), "store": InMemoryPushNotificationConfigStore()}
    async with inbox() as box:
        async with agent(ask, **stores) as client:
            task = await send(client, notifying(box.url, token="t"))
            await box.until(lambda bodies: state_in(bodies[-1]) == "TASK_STATE_INPUT_REQUIRED")
        before = len(box.bodies)
        async with agent(ask, **stores) as client:
            await client.cancel_task(CancelTaskRequest(id=task.id))
            await box.until_over()
    whole = box.bodies[before]["task"]
    assert whole["id"] == task.id
    assert whole["status"]["state"] == "TASK_STATE_CANCELED"
    assert box.headers[-1]["x-a2a-notification-token"] == "t"


async def test_a_broken_store_of_configs_does_not_stop_a_task(caplog):
    class Broken(InMemoryPushNotificationConfigStore):
        async def get_info_for_dispatch(self, task_id):
            raise OSError("no disk")

    stores = {"task_store": InMemoryTaskStore(), "store": Broken()}
    async with agent(ask, **stores) as client:
        task = await send(client, user_message("hello"))
    async with agent(ask, **stores) as client:
        cancelled = await client.cancel_task(CancelTaskRequest(id=task.id))
    assert cancelled.status.state == TaskState.TASK_STATE_CANCELED
    assert "could not be loaded" in caplog.text


class Picky(Adapter):
    """Refuses messages, or answers them without a task."""

    may_reply = True

    def describe(self):
        return AgentDescription(name="Picky", description="Refuses.")

    def stream(self, request):
        if request.text == "bad":
            raise InvalidInputError("not that")
        return self._reply(request)

    async def _reply(self, request):
        yield Reply([Text(request.text)])


async def test_a_message_without_a_task_leaves_no_config_behind():
    tasks = set()

    class Store(InMemoryPushNotificationConfigStore):
        async def set_info(self, task_id, notification_config, context):
            tasks.add(task_id)
            return await super().set_info(task_id, notification_config, context)

    store = Store()
    async with inbox() as box, agent(Picky(), store=store) as client:
        with pytest.raises(InvalidParamsError, match="not that"):
            await stream(client, notifying(box.url, "bad"))
        await stream(client, notifying(box.url, "good"))
        await box.until(lambda bodies: len(bodies) == 1)
    assert box.bodies[0]["message"]["parts"][0]["text"] == "good"
    assert len(tasks) == 2
    for task_id in tasks:
        assert await store.get_info_for_dispatch(task_id) == []


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
        await box.until(lambda bodies: bodies[-1].get("statusUpdate", {}).get("taskId") == other.id)
    assert all(body["task"]["id"] != task.id for body in box.bodies[before:] if "task" in body)


async def test_a_changed_url_gets_what_the_old_one_did_not():
    async with inbox() as old, inbox() as new, agent(talk) as client:
        old.is_open.clear()
        task = await send(client, notifying(old.url, "one two", id="a"))
        await client.create_task_push_notification_config(
            TaskPushNotificationConfig(task_id=task.id, id="a", url=new.url)
        )
        await new.until_over()
    assert text_in(new.bodies) == "one two "


async def test_what_is_under_way_gets_its_time_when_the_server_stops():
    async with inbox() as box:
        async with agent(talk) as client:
            box.answers = [503, 503]
            await send(client, notifying(box.url, "one two"))
        assert state_in(box.bodies[-1]) == "TASK_STATE_COMPLETED"


async def test_what_does_not_arrive_in_time_is_dropped_when_the_server_stops(caplog):
    limits = Limits(shutdown_seconds=0.05)
    async with inbox() as box:
        box.is_open.clear()
        async with agent(talk, limits=limits) as client:
            await send(client, notifying(box.url, "one two"))
    assert "1 receivers were not told everything" in caplog.text


class V03:
    """A client of A2A 0.3, by hand."""

    def __init__(self, http):
        self._http = http

    async def call(self, method, params):
        content = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return (await self._http.post("/", json=content)).json()

    async def send(self, text, url):
        message = {
            "kind": "message",
            "messageId": "m1",
            "role": "user",
            "parts": [{"kind": "text", "text": text}],
        }
        authentication = {"schemes": ["Basic"], "credentials": "YTpi"}
        config = {"url": url, "token": "t", "authentication": authentication}
        configuration = {"pushNotificationConfig": config, "blocking": True}
        answer = await self.call(
            "message/send", {"message": message, "configuration": configuration}
        )
        return answer["result"]


@asynccontextmanager
async def v03_agent(target, **push):
    options = ServerOptions(push=PushOptions(outbound=OPEN, **push))
    async with (
        running(build_app(target, options=options)) as url,
        httpx.AsyncClient(base_url=url) as http,
    ):
        yield V03(http)


async def test_receivers_of_0_3_get_plain_tasks():
    async with inbox() as box, v03_agent(talk) as client:
        task = await client.send("one two", box.url)
        await box.until_over()
    assert [body["kind"] for body in box.bodies] == ["task"] * 2
    states = [body["status"]["state"] for body in box.bodies]
    assert states == ["working", "completed"]
    assert box.bodies[-1]["id"] == task["id"]
    assert box.bodies[-1]["artifacts"][0]["parts"][0]["text"] == "one two "
    assert box.headers[0]["authorization"] == "Basic YTpi"
    assert box.headers[0]["x-a2a-notification-token"] == "t"
    assert box.headers[0]["content-type"] == "application/json"


async def test_receivers_of_0_3_stay_so_in_any_store():
    store = InMemoryPushNotificationConfigStore()
    async with inbox() as box, v03_agent(ask, store=store) as client:
        task = await client.send("hello", box.url)
        found = await client.call("tasks/pushNotificationConfig/get", {"id": task["id"]})
        assert found["result"]["pushNotificationConfig"]["url"] == box.url
        await client.call("tasks/cancel", {"id": task["id"]})
        await box.until(lambda bodies: bodies[-1]["status"]["state"] == "canceled")
    assert {body["kind"] for body in box.bodies} == {"task"}


async def test_configs_over_0_3():
    async with v03_agent(ask) as client:
        task = await client.send("hello", "http://127.0.0.1:1/")
        ids = {"id": task["id"]}
        config = {
            "taskId": task["id"],
            "pushNotificationConfig": {
                "id": "b",
                "url": "http://b.test",
                "authentication": {"schemes": []},
            },
        }
        answer = await client.call("tasks/pushNotificationConfig/set", config)
        assert answer["result"]["pushNotificationConfig"]["url"] == "http://b.test"

        default = await client.call("tasks/pushNotificationConfig/get", ids)
        assert default["result"]["pushNotificationConfig"]["url"] == "http://127.0.0.1:1/"
        by_word = ids | {"pushNotificationConfigId": "default"}
        assert await client.call("tasks/pushNotificationConfig/get", by_word) == default
        unknown = ids | {"pushNotificationConfigId": "c"}
        answer = await client.call("tasks/pushNotificationConfig/get", unknown)
        assert answer["error"]["code"] == -32001
        named = await client.call(
            "tasks/pushNotificationConfig/get", ids | {"pushNotificationConfigId": "b"}
        )
        assert named["result"]["pushNotificationConfig"]["url"] == "http://b.test"
        listed = await client.call("tasks/pushNotificationConfig/list", ids)
        assert len(listed["result"]) == 2

        unwanted = ids | {"pushNotificationConfigId": task["id"]}
        for _ in range(2):
            assert "error" not in await client.call("tasks/pushNotificationConfig/delete", unwanted)
        default = await client.call("tasks/pushNotificationConfig/get", ids)
        assert default["result"]["pushNotificationConfig"]["id"] == "b", "the only one left"
        missing = await client.call("tasks/pushNotificationConfig/get", {"id": "nothing"})
        assert missing["error"]["code"] == -32001


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_receivers_set_over_grpc_get_their_versions_form(version):
    app = build_app(talk, options=ServerOptions(push=PushOptions(outbound=OPEN), grpc_port=0))
    async with (
        inbox() as box,
        running(app),
        grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port(app)}") as channel,
    ):
        if version == "1.0":
            call = A2AServiceStub(channel).SendMessage
            await call(notifying(box.url, "one two"), metadata=(("a2a-version", "1.0"),))
        else:
            content = old.Message(message_id="m", role=old.Role.ROLE_USER)
            content.content.add(text="one two")
            configuration = old.SendMessageConfiguration(
                push_notification=old.PushNotificationConfig(url=box.url)
            )
            await OldStub(channel).SendMessage(
                old.SendMessageRequest(request=content, configuration=configuration)
            )
        await box.until_over()
    is_old = [body.get("kind") == "task" for body in box.bodies]
    assert set(is_old) == {version == "0.3"}


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


async def test_too_many_receivers_at_one_host_are_left_out(monkeypatch, caplog):
    monkeypatch.setattr("a2a_adapters.runtime.push.outbox._RECEIVERS_PER_HOST", 1)
    async with inbox() as box, agent(talk) as client:
        box.is_open.clear()
        first = await send(client, notifying(box.url, "first"))
        second = await send(client, notifying(box.url, "second"))
        assert f"task {second.id}: too much to send to notify 127.0.0.1" in caplog.text
        box.is_open.set()
        await box.until_over()
    assert {body["task"]["id"] for body in box.bodies if "task" in body} == {first.id}


async def test_a_body_that_cannot_be_made_is_logged_and_made_up(monkeypatch, caplog):
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
        httpx.AsyncClient(base_url=url, headers={"A2A-Version": "1.0"}) as http,
    ):
        sent = MessageToDict(notifying(box.url))
        task = (await http.post("/message:send", json=sent)).json()["task"]
        await client.cancel_task(CancelTaskRequest(id=task["id"]))
        await box.until_over()
    assert "notifying 127.0.0.1 failed" in caplog.text
    assert box.bodies[-1]["task"]["id"] == task["id"]
