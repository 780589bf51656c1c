"""Receivers configured over A2A 0.3 and gRPC."""

from __future__ import annotations

from contextlib import asynccontextmanager

import grpc
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.compat.v0_3.a2a_v0_3_pb2_grpc import A2AServiceStub as OldStub
from a2a.server.tasks import InMemoryPushNotificationConfigStore
from a2a.types.a2a_pb2_grpc import A2AServiceStub

from a2a_adapters import PushOptions, ServerOptions, build_app
from a2a_adapters.testing import running
from tests.support.inbox import OPEN, ask, inbox, notifying, talk
from tests.support.requests import grpc_port, old_call, old_say, serving


class V03:
    """A hand-written client of A2A 0.3."""

    def __init__(self, http):
        self._http = http

    async def call(self, method, params):
        return await old_call(self._http, method, params)

    async def send(self, text, url):
        authentication = {"schemes": ["Basic"], "credentials": "YTpi"}
        config = {"url": url, "token": "t", "authentication": authentication}
        configuration = {"pushNotificationConfig": config, "blocking": True}
        answer = await self.call("message/send", {**old_say(text), "configuration": configuration})
        return answer["result"]


@asynccontextmanager
async def v03_agent(target, **push):
    options = ServerOptions(push=PushOptions(outbound=OPEN, **push))
    async with serving(target, options=options) as http:
        yield V03(http)


async def test_receivers_of_0_3_get_plain_tasks():
    async with inbox() as box, v03_agent(talk) as client:
        task = await client.send("one two", box.url)
        await box.until_over()
    assert {body["kind"] for body in box.bodies} == {"task"}
    *earlier, last = [body["status"]["state"] for body in box.bodies]
    assert (set(earlier), last) in [(set(), "completed"), ({"working"}, "completed")]
    assert box.bodies[-1]["id"] == task["id"]
    assert box.bodies[-1]["artifacts"][0]["parts"][0]["text"] == "one two "
    assert box.headers[0]["authorization"] == "Basic YTpi"
    assert box.headers[0]["x-a2a-notification-token"] == "t"
    assert box.headers[0]["content-type"] == "application/json"


async def test_any_store_keeps_the_version_of_receivers_of_0_3():
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
async def test_receivers_set_over_grpc_get_the_form_of_their_version(version):
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
