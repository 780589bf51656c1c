"""fasta2a's client: methods of 0.3 with parts and results of 1.0."""

from __future__ import annotations

import asyncio
import base64

import pytest
from a2a.compat.v0_3 import types as old_types
from fasta2a.client import A2AClient

from a2a_adapters import Data, File, Output, Text
from tests.support.requests import Agent, old_call, old_say

PNG = b"\x89PNG\x00"
FILE = File(content=PNG, media_type="image/png", filename="a.png")
VALUE = [{"state": "TASK_STATE_WORKING"}, 1]


class Drawing(Agent):
    """Answers "draw" with a file and data."""

    async def answer(self, request):
        if request.text != "draw":
            async for event in super().answer(request):
                yield event
            return
        yield Output((FILE, Data(VALUE)), metadata={"role": "ROLE_AGENT"})


@pytest.fixture
async def agent():
    return Drawing(input_modes=["*/*"])


@pytest.fixture
async def client(http):
    return await asyncio.to_thread(A2AClient, str(http.base_url), http, fetch_card=True)


def said(text, **fields):
    return {"role": "user", "parts": [{"text": text}], "message_id": "m1", **fields}


def text_of(message_or_artifact):
    return "".join(part["text"] for part in message_or_artifact["parts"])


async def test_an_answer_is_read_from_its_task(client):
    task = (await client.send_message(said("hello")))["result"]["task"]
    assert (task["status"]["state"], text_of(task["artifacts"][0])) == ("completed", "hello ")
    assert [(m["role"], text_of(m)) for m in task["history"]] == [("user", "hello")]
    assert (await client.get_task(task["id"]))["result"] == task


async def test_a_reply_is_read_from_its_message(client):
    message = (await client.send_message(said("reply")))["result"]["message"]
    assert (message["role"], text_of(message)) == ("agent", "hi")


async def test_a_question_is_read_and_answered(client):
    task = (await client.send_message(said("ask")))["result"]["task"]
    assert task["status"]["state"] == "input-required"
    question = task["status"]["message"]
    assert (question["role"], text_of(question)) == ("agent", "what?")
    its = {"task_id": task["id"], "context_id": task["context_id"]}
    task = (await client.send_message(said("Rome", **its)))["result"]["task"]
    assert (task["id"], task["status"]["state"]) == (its["task_id"], "completed")
    assert text_of(task["artifacts"][-1]) == "Rome "


async def test_a_stream_is_read_from_its_events(client):
    events = [event["result"] async for event in client.stream_message(said("one\u2028two"))]
    kinds = [kind for event in events for kind in event]
    assert (kinds[0], {*kinds[1:-1]}, kinds[-1]) == ("task", {"artifact_update"}, "status_update")
    updates = [event["artifact_update"] for event in events[1:-1]]
    assert "".join(text_of(update["artifact"]) for update in updates) == "one\u2028two "
    assert events[-1]["status_update"]["status"]["state"] == "completed"


@pytest.mark.parametrize("method", ["send", "stream"])
async def test_files_and_data_go_both_ways(client, agent, method):
    sent = [
        {"text": "draw"},
        {"raw": base64.b64encode(PNG).decode(), "media_type": "image/png", "filename": "a.png"},
        {"url": "https://example.org/a.png", "media_type": "image/png"},
        {"data": VALUE, "media_type": "application/json"},
    ]
    message = said("", parts=sent)
    if method == "send":
        artifact = (await client.send_message(message))["result"]["task"]["artifacts"][0]
    else:
        events = [event["result"] async for event in client.stream_message(message)]
        [artifact] = [e["artifact_update"]["artifact"] for e in events if "artifact_update" in e]
    assert artifact["parts"] == [sent[1], sent[3]]
    assert artifact["metadata"] == {"role": "ROLE_AGENT"}
    text, file, link, data = agent.seen[0].parts
    assert (text, file) == (
        Text("draw"),
        File(content=PNG, media_type="image/png", filename="a.png"),
    )
    assert (link.url, data.value) == (sent[2]["url"], VALUE)


async def test_a_refusal_is_an_error(client):
    assert (await client.send_message(said("refuse")))["error"]["code"] == -32602
    [refusal] = [event async for event in client.stream_message(said("refuse"))]
    assert refusal["error"]["code"] == -32602


@pytest.mark.parametrize("text", ["hello", "reply"])
async def test_other_clients_of_0_3_get_the_usual_answer(http, text):
    """Includes clients that omit the kinds, and so look like one of the above."""
    message = old_say(text)
    result = (await old_call(http, "message/send", message))["result"]
    assert not {"task", "message"} & result.keys()
    del message["message"]["kind"], message["message"]["parts"][0]["kind"]
    answer = await old_call(http, "message/send", message)
    assert result.keys() < answer["result"].keys()
    read = old_types.SendMessageResponse.model_validate(answer).root.result
    assert read.kind == result["kind"]
