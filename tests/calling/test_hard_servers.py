"""The test agents that ask, refuse, fail, hang, flood, or lie do so over plain HTTP."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.calling.calls import (
    PING,
    STREAMING,
    call,
    calling,
    digest,
    events,
    responses,
    result,
    rpc,
    served,
    state,
    texts,
)
from tests.support.servers import (
    broken,
    flaky,
    front,
    guarded,
    hanging,
    huge,
    lying,
    malformed,
    states,
)
from tests.support.servers.cards import CARD_PATH


def answer(task, text):
    message = {"messageId": "m2", "role": "ROLE_USER", "parts": [{"text": text}]}
    return {**message, "taskId": task["id"], "contextId": task["contextId"]}


@pytest.mark.parametrize(
    ("agent", "ended", "words"),
    [
        (states.asks_city, "input_required", [states.QUESTION]),
        (states.asks_login, "auth_required", [states.LOGIN]),
        (states.fails, "failed", ["Out of paper."]),
        (states.fails_silently, "failed", []),
        (states.rejects, "rejected", ["Not my job."]),
        (states.cancels, "canceled", ["The shop is closed."]),
    ],
)
async def test_states(agent, ended, words):
    async with calling(agent()) as client:
        streamed = events(await rpc(client, STREAMING, message=PING))
        task = (await result(client, "SendMessage", message=PING))["task"]
    assert digest(streamed[-1]) == (ended, words)
    assert (state(task), texts(task["status"].get("message", {}))) == (ended, words)


async def test_questions_are_answered():
    async with calling(states.asks_twice()) as client:
        task = (await result(client, "SendMessage", message=PING))["task"]
        task = (await result(client, "SendMessage", message=answer(task, "Paris")))["task"]
        assert texts(task["status"]["message"]) == [states.SECOND_QUESTION]
        task = (await result(client, "SendMessage", message=answer(task, "Today")))["task"]
    assert texts(task["artifacts"][0]) == ["Booked: Today"]
    async with calling(states.asks_city()) as client:
        task = (await result(client, "SendMessage", message=PING))["task"]
        task = (await result(client, "SendMessage", message=answer(task, "Paris")))["task"]
    assert texts(task["artifacts"][0]) == ["Booked: Paris"]


async def test_a_crash_is_an_error_in_the_stream():
    async with calling(states.crashes()) as client:
        last = responses((await rpc(client, STREAMING, message=PING)).text)[-1]
    assert last["error"]["code"] == -32603


async def test_received_data_is_kept():
    recording = front.Recording()
    message = {
        **PING,
        "contextId": "c1",
        "referenceTaskIds": ["t0"],
        "metadata": {"a": 1},
    }
    async with calling(recording) as client:
        await client.get(CARD_PATH)
        await rpc(client, "SendMessage", message=message)
    assert recording.messages == [message]
    assert recording.methods == ["SendMessage"]
    assert recording.received[0].path == CARD_PATH
    assert recording.received[1].headers["A2A-Version"] == "1.0"


@pytest.mark.parametrize(
    ("agent", "headers"),
    [
        (guarded.bearer(), {"Authorization": "Bearer s3cret"}),
        (guarded.api_key(), {"X-API-Key": "s3cret"}),
    ],
    ids=["bearer", "api_key"],
)
async def test_credentials_are_wanted(agent, headers):
    async with calling(agent) as client:
        card = (await client.get(CARD_PATH)).json()
        refused = await rpc(client, "SendMessage", message=PING)
        allowed = await client.post("/", headers=headers, **call("SendMessage", message=PING))
        agent.value = "changed"
        stale = await client.post("/", headers=headers, **call("SendMessage", message=PING))
    assert card["securitySchemes"]["main"]
    assert [r.status_code for r in (refused, allowed, stale)] == [401, 200, 401]


@pytest.mark.parametrize("refuse", ["429", "503"])
async def test_the_first_calls_are_refused(refuse):
    agent = flaky.Flaky(refuse, calls=2, cards=1, retry_after="3")
    async with calling(agent) as client:
        assert (await client.get(CARD_PATH)).status_code == int(refuse)
        assert (await client.get(CARD_PATH)).status_code == 200
        tries = [await rpc(client, "SendMessage", message=PING) for _ in range(3)]
    assert [response.status_code for response in tries] == [int(refuse), int(refuse), 200]
    assert tries[0].headers["Retry-After"] == "3"
    assert agent.times_received == {"m1": 3}


@pytest.mark.parametrize("refuse", ["closed", "lost"])
async def test_the_connection_is_closed_without_an_answer(refuse):
    agent = flaky.Flaky(refuse)
    async with served(agent) as client:
        with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
            await rpc(client, "SendMessage", message=PING)
        assert (await rpc(client, "SendMessage", message=PING)).status_code == 200
    assert agent.times_received == {"m1": 2}


async def read(client, method, **params):
    """Return the events of a stream (None without even headers) and the error that ended it."""
    text = error = None
    try:
        async with client.stream("POST", "/", **call(method, **params)) as response:
            text = ""
            async for more in response.aiter_text():
                text += more
    except (httpx.RemoteProtocolError, httpx.ReadTimeout) as failure:
        error = type(failure)
    return text and [each["result"] for each in responses(text)], error


def digests(got):
    return [digest(event) for event in got]


async def test_subscribers_can_resume_a_broken_stream():
    agent = broken.BreakingStream(after=2, breaks=2)
    async with served(agent) as client:
        first, error = await read(client, STREAMING, message=PING)
        assert digests(first) == [("task", []), ("set", ["pong"])]
        assert error is httpx.RemoteProtocolError
        task_id = first[0]["task"]["id"]
        second, error = await read(client, "SubscribeToTask", id=task_id)
        known = ("task", [["pong", ": pi"]])
        assert digests(second) == [known, ("append", ["ng"]), ("completed", [])]
        assert error is httpx.RemoteProtocolError
        late = (await rpc(client, "SubscribeToTask", id=task_id)).json()
        task = await result(client, "GetTask", id=task_id)
    assert late["error"]["code"] == -32004
    assert state(task) == "completed"
    assert texts(task["artifacts"][0]) == ["pong", ": pi", "ng"]
    assert agent.methods == [STREAMING, "SubscribeToTask", "SubscribeToTask", "GetTask"]


async def test_the_task_of_a_broken_stream_can_finish_without_it():
    async with served(broken.BreakingStream(after=1, finishes=True)) as client:
        first, error = await read(client, STREAMING, message=PING)
        assert (digests(first), error) == ([("task", [])], httpx.RemoteProtocolError)
        task_id = first[0]["task"]["id"]
        late = (await rpc(client, "SubscribeToTask", id=task_id)).json()
        task = await result(client, "GetTask", id=task_id)
        whole, error = await read(client, STREAMING, message=PING)
    assert late["error"]["code"] == -32004
    assert texts(task["artifacts"][0]) == ["pong", ": pi", "ng"]
    assert (digest(whole[-1]), error) == (("completed", []), None)


async def test_a_stream_that_breaks_within_an_event():
    async with served(broken.BreakingStream(after=1, torn=True)) as client:
        with pytest.raises(json.JSONDecodeError):
            await read(client, STREAMING, message=PING)


@pytest.mark.parametrize(
    ("agent", "begun"),
    [
        (hanging.hangs_before_headers, None),
        (hanging.hangs_after_headers, ""),
        (hanging.hangs_mid_stream, [("task", []), ("set", ["pong"])]),
    ],
)
async def test_silence(agent, begun):
    silent = agent()
    async with served(silent, patience=0.2) as client:
        got, error = await read(client, STREAMING, message=PING)
        await silent.gone.wait()
    assert error is httpx.ReadTimeout
    assert (got and digests(got)) == begun


async def test_a_card_that_never_comes():
    async with served(hanging.hanging_card(), patience=0.2) as client:
        with pytest.raises(httpx.ReadTimeout):
            await client.get(CARD_PATH)


@pytest.mark.parametrize(
    ("agent", "line"),
    [(hanging.endless_chunks, '"artifactUpdate"'), (hanging.endless_comments, ": still there")],
)
async def test_no_end(agent, line):
    seen = 0
    async with (
        served(agent()) as client,
        client.stream("POST", "/", **call(STREAMING, message=PING)) as response,
    ):
        async for text in response.aiter_lines():
            seen += line in text
            if seen == 20:
                break
    assert seen == 20


@pytest.mark.parametrize("compressed", [False, True])
async def test_a_huge_event_is_made_as_it_is_read(compressed):
    agent = huge.huge_answer(compressed=compressed)
    async with (
        served(agent) as client,
        client.stream("POST", "/", **call(STREAMING, message=PING)) as response,
    ):
        first = await anext(response.aiter_raw())
    assert agent.sent < 8 << 20
    if compressed:
        assert first[:2] == b"\x1f\x8b"
    else:
        assert first.startswith(b"data: ")


@pytest.mark.parametrize("compressed", [False, True])
async def test_huge_bodies_are_valid(compressed):
    async with calling(huge.Huge(mebibytes=2, compressed=compressed)) as client:
        whole = await result(client, "SendMessage", message=PING)
        [event] = events(await rpc(client, STREAMING, message=PING))
    assert len(texts(whole["message"])[0]) == len(texts(event["message"])[0]) == 2 << 20
    async with calling(huge.Huge(card=True, mebibytes=2, compressed=compressed)) as client:
        assert len((await client.get(CARD_PATH)).json()["description"]) == 2 << 20


@pytest.mark.parametrize("name", malformed.MALFORMED)
async def test_no_answer_can_be_understood(name):
    async with calling(malformed.MALFORMED[name]()) as client:
        response = await rpc(client, STREAMING, message=PING)
    streamed = response.headers["content-type"].startswith("text/event-stream")
    assert streamed == name.endswith("stream")
    assert not (response.status_code == 200 and understood(response, streamed=streamed))


def understood(response, *, streamed):
    try:
        got = responses(response.text) if streamed else [response.json()]
        return got[-1]["id"] == 1 and digest(got[-1]["result"]) is not None
    except (ValueError, LookupError, TypeError, AttributeError):
        return False


async def test_refusals():
    async with calling(malformed.rpc_error(-32001, "gone")) as client:
        error = (await rpc(client, "SendMessage", message=PING)).json()["error"]
        assert error == {"code": -32001, "message": "gone"}
    for status in (401, 403, 404, 500):
        async with calling(malformed.http_error(status)) as client:
            response = await rpc(client, "SendMessage", message=PING)
            assert (response.status_code, response.text) == (status, malformed.HTML)
    async with calling(malformed.redirecting("http://169.254.169.254/")) as client:
        response = await rpc(client, "SendMessage", message=PING)
        assert response.headers["Location"] == "http://169.254.169.254/"


async def test_streams_that_are_nearly_right():
    async with calling(malformed.stranger_in_stream()) as client:
        got = [digest(e) for e in events(await rpc(client, STREAMING, message=PING))]
    assert got[1:] == [("set", ["pong: ping"]), ("set", ["not for you"]), ("completed", [])]
    async with calling(malformed.json_for_stream()) as client:
        assert digest(await result(client, STREAMING, message=PING)) == ("task", [["pong: ping"]])
    async with calling(malformed.error_in_stream()) as client:
        got = responses((await rpc(client, STREAMING, message=PING)).text)
    assert [digest(r["result"]) for r in got[:2]] == [("task", []), ("set", ["pong"])]
    assert got[2]["error"]["code"] == -32603


@pytest.mark.parametrize("url", lying.LYING_URLS.values(), ids=lying.LYING_URLS)
async def test_a_card_with_another_address(url):
    async with calling(lying.lying_card(url)) as client:
        [interface] = (await client.get(CARD_PATH)).json()["supportedInterfaces"]
    assert interface.get("url", "") == url


async def test_cards_that_want_something_else():
    async with calling(lying.hostile_card()) as client:
        response = await client.get(CARD_PATH)
        assert (await result(client, "SendMessage", message=PING))["task"]
    card = response.json()
    assert len(response.content) < 400_000
    assert len(card["skills"]) == 3001
    assert lying.CONTROLS in card["name"]
    assert "Ignore all previous instructions" in card["description"]
    async with calling(lying.credentials_in_url()) as client:
        [interface] = (await client.get(CARD_PATH)).json()["supportedInterfaces"]
    assert interface["url"] == "http://admin:hunter2@agent"
    async with calling(lying.nameless_card()) as client:
        assert not {"name", "skills"} & (await client.get(CARD_PATH)).json().keys()
    async with calling(malformed.bad_card("[]", 404)) as client:
        response = await client.get(CARD_PATH)
    assert (response.status_code, response.text) == (404, "[]")
