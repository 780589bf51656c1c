"""Follow-ups on a working task are answered in turn or refused, never lost."""

from __future__ import annotations

import asyncio

import grpc.aio
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.compat.v0_3.a2a_v0_3_pb2_grpc import A2AServiceStub as OldStub
from a2a.types import Message, Part, Role, SendMessageConfiguration, SendMessageRequest
from a2a.types.a2a_pb2_grpc import A2AServiceStub

from tests.support.requests import V1, call, old_say, proto_say, rpc, say

VERSION = (("a2a-version", "1.0"),)
AT_ONCE = {"returnImmediately": True}


async def by_json_rpc(http, channel, task_id):
    params = {**say("and this", taskId=task_id), "configuration": AT_ONCE}
    answer = await call(http, "SendMessage", params)
    return answer["error"]["code"], answer["error"]["message"]


async def by_rest(http, channel, task_id):
    params = {**say("and this", taskId=task_id), "configuration": AT_ONCE}
    answer = await http.post("/message:send", json=params, headers=V1)
    return answer.json()["error"]["code"], answer.json()["error"]["message"]


async def by_grpc(http, channel, task_id):
    message = Message(message_id="m", role=Role.ROLE_USER, task_id=task_id, parts=[Part(text="x")])
    asked = SendMessageConfiguration(return_immediately=True)
    request = SendMessageRequest(message=message, configuration=asked)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await A2AServiceStub(channel).SendMessage(request, metadata=VERSION)
    return caught.value.code(), caught.value.details()


async def by_old_json_rpc(http, channel, task_id):
    params = {**old_say("and this", taskId=task_id), "configuration": {"blocking": False}}
    answer = (await http.post("/", json=rpc("message/send", params))).json()
    return answer["error"]["code"], answer["error"]["message"]


async def by_old_rest(http, channel, task_id):
    params = {**proto_say("and this", taskId=task_id), "configuration": {"blocking": False}}
    answer = await http.post("/v1/message:send", json=params)
    return answer.status_code, answer.text


async def by_old_grpc(http, channel, task_id):
    message = old.Message(
        message_id="m", role=old.Role.ROLE_USER, task_id=task_id, content=[old.Part(text="x")]
    )
    asked = old.SendMessageConfiguration(blocking=False)
    request = old.SendMessageRequest(request=message, configuration=asked)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await OldStub(channel).SendMessage(request)
    return caught.value.code(), caught.value.details()


CALLS = [
    (by_json_rpc, -32004),
    (by_rest, 400),
    (by_grpc, grpc.StatusCode.FAILED_PRECONDITION),
    (by_old_json_rpc, -32004),
    (by_old_rest, 400),
    (by_old_grpc, grpc.StatusCode.FAILED_PRECONDITION),
]


async def working_task(http):
    params = {**say("wait"), "configuration": AT_ONCE}
    return (await call(http, "SendMessage", params))["result"]["task"]["id"]


@pytest.mark.parametrize(("send", "code"), CALLS)
async def test_returning_at_once_is_refused_while_the_task_may_end(served, agent, send, code):
    http, channel = served
    task_id = await working_task(http)
    status, why = await send(http, channel, task_id)
    assert status == code
    assert "works on an earlier message" in why
    agent.release.set()


async def test_a_blocking_caller_learns_that_the_task_has_ended(served, agent):
    http, _ = served
    task_id = await working_task(http)
    later = asyncio.ensure_future(call(http, "SendMessage", say("and this", taskId=task_id)))
    agent.release.set()
    assert (await later)["error"]["code"] == -32004


async def test_the_answer_to_a_question_begins_at_once(served, agent):
    http, _ = served
    params = {**say("ask"), "configuration": AT_ONCE}
    task_id = (await call(http, "SendMessage", params))["result"]["task"]["id"]
    await call(http, "SendMessage", say("authorise", taskId=task_id))
    params = {**say("wait", taskId=task_id), "configuration": AT_ONCE}
    answer = await call(http, "SendMessage", params)
    assert answer["result"]["task"]["id"] == task_id
    agent.release.set()
    async with http.stream("GET", f"/tasks/{task_id}:subscribe", headers=V1) as stream:
        [_ async for _ in stream.aiter_bytes()]
    task = (await call(http, "GetTask", {"id": task_id}))["result"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    said = [part["text"] for message in task["history"] for part in message["parts"]]
    assert said.count("wait") == 1
