"""Access to push notification configs, and their lifetime."""

from __future__ import annotations

import httpx
import pytest
from a2a.client.errors import A2AClientError
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore
from a2a.types import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotFoundError,
)

from a2a_adapters import (
    InputRequired,
    InvalidInputError,
    Limits,
    OutboundPolicy,
    PushOptions,
    Reply,
    ServerOptions,
    Text,
    build_app,
)
from a2a_adapters.plugin import Adapter, AgentDescription
from a2a_adapters.testing import connect, running, send, stream, user_message
from tests.support.inbox import BINDINGS, OPEN, OVER, agent, ask, inbox, notifying, state_in, talk
from tests.support.requests import old_call, old_say, serving


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
        if binding == "JSONRPC":  # over HTTP+JSON this is the address of the list
            nameless = GetTaskPushNotificationConfigRequest(task_id=task.id)
            with pytest.raises(InvalidParamsError):
                await client.get_task_push_notification_config(nameless)
        listed = await client.list_task_push_notification_configs(everything)
        assert [config.id for config in listed.configs] == [task.id]

        before = len(box.bodies)
        await send(client, user_message("Rome", task_id=task.id))
        await box.until_over()
    assert not any("x-a2a-notification-token" in headers for headers in box.headers[before:])


@pytest.mark.parametrize("binding", BINDINGS)
async def test_each_config_without_an_id_gets_its_own(binding):
    async with inbox() as box, agent(ask, binding) as client:
        task = await send(client, user_message("hello"))
        ids = set()
        for number in range(3):
            config = TaskPushNotificationConfig(task_id=task.id, url=f"{box.url}?{number}")
            ids.add((await client.create_task_push_notification_config(config)).id)
        assert len(ids) == 3
        answer = notifying(f"{box.url}?1", "Rome", token="another")  # as with each message
        answer.message.task_id = task.id
        await send(client, answer)
        everything = ListTaskPushNotificationConfigsRequest(task_id=task.id)
        listed = await client.list_task_push_notification_configs(everything)
        assert {config.id for config in listed.configs} == ids
        await box.until(lambda bodies: sum(state_in(body) in OVER for body in bodies) == 3)


@pytest.mark.parametrize("is_over", [True, False])
async def test_a_config_of_a_settled_task_is_called_at_once(is_over):
    async with inbox() as box, agent(talk if is_over else ask) as client:
        task = await send(client, user_message("hello"))
        for name in ("a",) if is_over else ("a", "a", "b"):  # one receiver hears of it once
            config = TaskPushNotificationConfig(task_id=task.id, id=name, url=box.url)
            await client.create_task_push_notification_config(config)
        await box.until(lambda bodies: state_in(bodies[-1]))
        later = TaskPushNotificationConfig(task_id=task.id, id="c", url=f"{box.url}?c")
        await client.create_task_push_notification_config(later)
        await box.until(lambda bodies: len(bodies) == 2)
    assert [body["task"]["status"]["state"] for body in box.bodies] == [
        TaskState.Name(task.status.state)
    ] * 2


async def test_a_config_of_0_3_replaces_the_one_without_an_id():
    push = ServerOptions(push=PushOptions(outbound=OPEN))
    async with inbox() as box, serving(ask, options=push) as http:
        task = (await old_call(http, "message/send", old_say("hello")))["result"]
        for number in range(2):
            config = {"url": f"{box.url}?{number}"}
            params = {"taskId": task["id"], "pushNotificationConfig": config}
            await old_call(http, "tasks/pushNotificationConfig/set", params)
        found = await old_call(http, "tasks/pushNotificationConfig/list", {"id": task["id"]})
        [config] = [each["pushNotificationConfig"] for each in found["result"]]
        assert config == {"id": task["id"], "url": f"{box.url}?1"}
        await box.until(lambda bodies: bodies[-1]["status"]["state"] == "input-required")


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


async def test_the_number_of_configs_of_a_task_is_limited():
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
        {"url": "https://example.org/hook "},
        {"url": " https://example.org/hook"},
        {"url": "https://example.org/a hook"},
        {"url": "https://example.org/hook\n"},
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
            assert "127.0.0.1" not in str(caught.value), "nothing about this network is disclosed"
        task = await send(client, user_message("hello"))
        with pytest.raises(InvalidParamsError):
            await client.create_task_push_notification_config(
                TaskPushNotificationConfig(task_id=task.id, url=box.url)
            )
    assert box.bodies == []


@pytest.mark.parametrize("push", [None, PushOptions()])
async def test_push_is_offered_only_if_enabled(push):
    app = build_app(talk, options=ServerOptions(push=push))
    async with running(app) as url, connect(url) as client, httpx.AsyncClient(timeout=60) as http:
        card = (await http.get(f"{url}/.well-known/agent-card.json")).json()
        assert card["capabilities"].get("pushNotifications", False) is (push is not None)
        if push is None:
            with pytest.raises(PushNotificationNotSupportedError):
                await stream(client, notifying("http://127.0.0.1:1/"))


async def test_stored_receivers_survive_a_restart():
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


class Store(InMemoryPushNotificationConfigStore):
    """A custom store that records its calls."""

    def __init__(self):
        super().__init__()
        self.tasks = set()

    async def set_info(self, task_id, notification_config, context):
        self.tasks.add(task_id)
        return await super().set_info(task_id, notification_config, context)

    async def ids(self):
        """Return the ids of all configs."""
        found = [await self.get_info_for_dispatch(task_id) for task_id in self.tasks]
        return [config.id for configs in found for config in configs]


async def test_a_message_without_a_task_leaves_no_config():
    store = Store()
    async with inbox() as box, agent(Picky(), store=store) as client:
        with pytest.raises(InvalidParamsError, match="not that"):
            await stream(client, notifying(box.url, "bad"))
        await stream(client, notifying(box.url, "good"))
        await box.until(lambda bodies: len(bodies) == 1)
    assert box.bodies[0]["message"]["parts"][0]["text"] == "good"
    assert len(store.tasks) == 2
    assert await store.ids() == []


async def test_a_message_refused_for_lack_of_capacity_leaves_no_config():
    store = Store()
    async with agent(ask, store=store, limits=Limits(running_bytes=1)) as client:
        with pytest.raises(A2AClientError, match="503"):
            await send(client, notifying("http://127.0.0.1:1/"))
    assert await store.ids() == []


class Asking(Picky):
    """Asks, and refuses some of the answers."""

    async def _reply(self, request):
        yield InputRequired("what?", durable=True)


async def test_a_refused_answer_leaves_no_config():
    store = Store()
    async with agent(Asking(), store=store) as client:
        task = await send(client, notifying("http://127.0.0.1:1/", id="first"))
        for name in ("first", "second"):
            bad = notifying("http://127.0.0.1:2/", "bad", id=name)
            bad.message.task_id = task.id
            bad.configuration.return_immediately = False
            with pytest.raises(InvalidParamsError, match="not that"):
                await send(client, bad)
        assert await store.ids() == ["first"]
