"""`historyLength` limits a task's history, in streams as well."""

from __future__ import annotations

import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.compat.v0_3.a2a_v0_3_pb2_grpc import A2AServiceStub as OldStub
from a2a.types import Message, Part, Role, SendMessageConfiguration, SendMessageRequest
from a2a.types.a2a_pb2_grpc import A2AServiceStub

from tests.support.requests import V1, call, old_say, proto_say, rpc, say, sse


async def waiting_task(http):
    """Return the id of a task that has a history and waits for its caller."""
    task = (await call(http, "SendMessage", say("ask")))["result"]["task"]
    for _ in range(2):
        again = say("authorise", taskId=task["id"])
        await call(http, "SendMessage", again)
    asked = await call(http, "GetTask", {"id": task["id"]})
    assert len(asked["result"]["history"]) > 2
    return task["id"]


async def shown_by_json_rpc(http, channel, task_id, length):
    params = {**say("go", taskId=task_id), "configuration": {"historyLength": length}}
    answer = await http.post("/", json=rpc("SendStreamingMessage", params), headers=V1)
    return sse(answer.text)[0]["result"]["task"].get("history", [])


async def shown_by_rest(http, channel, task_id, length):
    params = {**say("go", taskId=task_id), "configuration": {"historyLength": length}}
    answer = await http.post("/message:stream", json=params, headers=V1)
    return sse(answer.text)[0]["task"].get("history", [])


async def shown_by_grpc(http, channel, task_id, length):
    message = Message(message_id="m", role=Role.ROLE_USER, task_id=task_id, parts=[Part(text="go")])
    asked = SendMessageConfiguration(history_length=length)
    request = SendMessageRequest(message=message, configuration=asked)
    stream = A2AServiceStub(channel).SendStreamingMessage(
        request, metadata=(("a2a-version", "1.0"),)
    )
    events = [event async for event in stream]
    return list(events[0].task.history)


async def shown_by_old_json_rpc(http, channel, task_id, length):
    params = {**old_say("go", taskId=task_id), "configuration": {"historyLength": length}}
    answer = await http.post("/", json=rpc("message/stream", params))
    return sse(answer.text)[0]["result"].get("history", [])


async def shown_by_old_rest(http, channel, task_id, length):
    params = {**proto_say("go", taskId=task_id), "configuration": {"historyLength": length}}
    answer = await http.post("/v1/message:stream", json=params)
    return sse(answer.text)[0]["task"].get("history", [])


async def shown_by_old_grpc(http, channel, task_id, length):
    message = old.Message(
        message_id="m", role=old.Role.ROLE_USER, task_id=task_id, content=[old.Part(text="go")]
    )
    asked = old.SendMessageConfiguration(history_length=length)
    request = old.SendMessageRequest(request=message, configuration=asked)
    events = [event async for event in OldStub(channel).SendStreamingMessage(request)]
    return list(events[0].task.history)


NEW = [shown_by_json_rpc, shown_by_rest, shown_by_grpc]
OLD = [shown_by_old_json_rpc, shown_by_old_rest, shown_by_old_grpc]


@pytest.mark.parametrize("shown", [*NEW, *OLD])
async def test_a_stream_limits_the_history(served, shown):
    http, channel = served
    assert len(await shown(http, channel, await waiting_task(http), 1)) == 1


@pytest.mark.parametrize("shown", [*NEW, *OLD])
async def test_0_means_none_and_in_0_3_all(served, shown):
    http, channel = served
    history = await shown(http, channel, await waiting_task(http), 0)
    assert len(history) > 2 if shown in OLD else history == []


async def test_a_new_task_is_shown_without_its_message_for_0(served):
    http, _ = served
    params = {**say("hello"), "configuration": {"historyLength": 0}}
    answer = await http.post("/message:stream", json=params, headers=V1)
    events = sse(answer.text)
    assert "history" not in events[0]["task"]
    got = await call(http, "GetTask", {"id": events[0]["task"]["id"]})
    assert len(got["result"]["history"]) == 1
