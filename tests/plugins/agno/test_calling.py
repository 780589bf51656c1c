"""`RemoteAgent` against recorded answers of Agno's servers."""

from __future__ import annotations

import asyncio
import json

import pytest
from a2a_adapters_agno import agno_card

from a2a_adapters import (
    ConfigurationError,
    Data,
    File,
    Progress,
    RemoteAgent,
    RemoteAgentError,
    RemoteAnswerError,
    RemoteRefusedError,
    RemoteTaskError,
    Text,
    TextDelta,
    ToolCall,
    ToolResult,
)
from a2a_adapters.plugin import installed_plugins
from a2a_adapters.testing import running
from tests.plugins.agno.recordings import AGENT, GO, V2, V3, replaying

STREAM = f"{AGENT}/v1/message:stream"
SEND = f"{AGENT}/v1/message:send"
GET = f"{AGENT}/v1/tasks:get"
ROOT_SEND, ROOT_STREAM = "/a2a/message/send", "/a2a/message/stream"


async def ask(exchange, text="hi", *, at=STREAM, card=None):
    """Return the reply, the events and the sent requests."""
    app = replaying({at: exchange})
    async with running(app) as url, RemoteAgent(card(url) if card else url + AGENT) as agent:
        events = [event async for event in agent.stream(text)]
    return events[-1], events[:-1], app.state.sent


def go_card(url):
    return agno_card(url, "my-agent")


@pytest.mark.parametrize("versions", [V3, V2], ids=["3.1.10", "2.9.0"])
async def test_a_stream_is_read_once(versions):
    reply, news, sent = await ask(versions["stream"])
    assert reply.text == "agno reply to: Hello stream (user turns seen: 1)"
    assert "".join(event.text for event in news) == reply.text
    assert len(news) == 9
    assert (reply.state, reply.context_id) == ("completed", "s1")
    assert reply.task_id
    assert sent[0]["method"] == "message/stream"
    assert sent[0]["params"]["message"]["parts"] == [{"kind": "text", "text": "hi"}]


async def test_tool_calls_are_progress():
    reply, news, _ = await ask(V3["stream tool"])
    tools = [event for event in news if not isinstance(event, TextDelta)]
    assert tools == [ToolCall("call_1", "add", {"a": 2, "b": 3}), ToolResult("call_1", "add")]
    assert reply.text == "agno reply to: TOOL please (user turns seen: 1)"


@pytest.mark.parametrize("name", ["stream model error", "stream empty"])
async def test_completion_without_an_answer_is_an_error(name):
    with pytest.raises(RemoteAnswerError, match="model failure"):
        await ask(V3[name])


async def test_a_cancelled_stream_raises_with_the_partial_answer():
    with pytest.raises(RemoteTaskError, match="was cancelled") as caught:
        await ask(V3["stream cancelled by tasks:cancel after 1.5 s"])
    assert caught.value.state == "canceled"
    assert caught.value.reply.text.startswith("agno reply to: SLOW:5 ")


@pytest.mark.parametrize("name", ["stream no id", "stream bad method const"])
async def test_errors_of_fastapi_are_refusals(name):
    with pytest.raises(RemoteRefusedError, match="Invalid A2A request"):
        await ask(V3[name])


async def test_a_stream_answered_with_a_task():
    reply, news, _ = await ask(V3["send"])
    assert reply.text == "agno reply to: Hello (user turns seen: 1)"
    assert [event.text for event in news] == [reply.text]


SENDS = {
    "send": "agno reply to: Hello (user turns seen: 1)",
    "send 2nd turn same context": "agno reply to: Again (user turns seen: 2)",
    "send file+data parts": 'agno reply to: look\n{"a": 1}\nend (user turns seen: 3)',
    "send tool": "agno reply to: TOOL please (user turns seen: 1)",
}


@pytest.mark.parametrize("name", sorted(SENDS))
async def test_without_streams_the_task_is_read(name, monkeypatch):
    app = replaying({SEND: V3[name]})
    async with running(app) as url, RemoteAgent(url + AGENT) as agent:
        card = await agent.card()
        card.capabilities.streaming = False
        async with RemoteAgent(card) as plain:
            reply = await plain.send("hi")
        await asyncio.to_thread(plain.close)
    assert reply.text == SENDS[name]
    assert app.state.sent[0]["method"] == "message/send"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("send model error", RemoteTaskError),
        ("send empty reply", RemoteAnswerError),
        ("send unknown agent", RemoteRefusedError),
        ("send bad json", RemoteRefusedError),
    ],
)
async def test_failures_of_a_send_are_raised(name, error):
    async with running(replaying({SEND: V3[name]})) as url, RemoteAgent(url + AGENT) as agent:
        card = await agent.card()
        card.capabilities.streaming = False
        async with RemoteAgent(card) as plain:
            with pytest.raises(error) as caught:
                await plain.send("hi")
    if error is RemoteTaskError:
        assert "echo model failure" in str(caught.value)


async def test_after_a_broken_stream_the_task_is_polled():
    broken = {**V3["stream"], "frames": V3["stream"]["frames"][:3]}
    app = replaying({STREAM: broken, GET: V3["tasks:get completed"]})
    async with running(app) as url, RemoteAgent(url + AGENT) as agent:
        reply = await agent.send("hi")
    assert "agno reply to: Hello (user turns seen: 1)" in reply.text
    asked = app.state.sent[1]["params"]
    assert asked["contextId"] == "s1"
    first = json.loads(broken["frames"][0]["frame"].split("data: ")[1])
    assert asked["id"] == first["result"]["taskId"]


async def test_tasks_are_read_and_cancelled():
    answers = {GET: V3["tasks:get unknown"], f"{AGENT}/v1/tasks:cancel": V3["tasks:cancel unknown"]}
    async with running(replaying(answers)) as url, RemoteAgent(url + AGENT) as agent:
        with pytest.raises(RemoteRefusedError) as caught:
            await agent.get_task("nope")
        assert (await agent.cancel("nope")).state == "canceled"
    assert caught.value.code == -32001


@pytest.mark.parametrize(
    ("versions", "name", "text"),
    [
        (V2, "LEGACY stream", "agno reply to: Hello there (user turns seen: 1)"),
        (GO, "stream (seed request)", "agno-go reply to: Hello stream"),
        (GO, "send (seed request)", "agno-go reply to: Hello!"),
        (V2, "LEGACY send", "agno reply to: Hello (user turns seen: 1)"),
    ],
)
async def test_servers_without_cards(versions, name, text):
    reply, news, sent = await ask(versions[name], at=ROOT_STREAM, card=go_card)
    assert reply.text == text
    assert "".join(event.text for event in news) == text
    assert sent[0]["params"]["message"]["agentId"] == "my-agent"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("stream agent failure", RemoteTaskError),
        ("stream unknown agent", RemoteRefusedError),
        ("err agent failure", RemoteRefusedError),
        ("err empty text", RemoteRefusedError),
    ],
)
async def test_failures_of_agno_go(name, error):
    with pytest.raises(error):
        await ask(GO[name], at=ROOT_STREAM, card=go_card)


async def test_a_server_without_tasks_is_reported():
    async with running(replaying({})) as url, RemoteAgent(go_card(url)) as agent:
        with pytest.raises(RemoteAgentError, match="does not store tasks"):
            await agent.get_task("t")


async def test_files_and_data_are_sent_in_agnos_formats():
    parts = [
        Text("look"),
        File(url="https://x.example/i.png", media_type="image/png"),
        File(content=b"abc", filename="a.bin"),
        Data({"a": 1}),
    ]
    app = replaying({STREAM: V3["stream"], ROOT_STREAM: GO["stream (seed request)"]})
    async with running(app) as url:
        async with RemoteAgent(url + AGENT) as agent:
            await agent.send(parts)
        async with RemoteAgent(go_card(url)) as agent:
            await agent.send(parts)
    python, go = (sent["params"]["message"]["parts"] for sent in app.state.sent)
    assert (
        python[:3]
        == go[:3]
        == [
            {"kind": "text", "text": "look"},
            {"kind": "file", "file": {"uri": "https://x.example/i.png", "mimeType": "image/png"}},
            {"kind": "file", "file": {"bytes": "YWJj", "name": "a.bin"}},
        ]
    )
    assert python[3] == {"kind": "data", "data": {"a": 1}}
    assert go[3]["data"]["mimeType"] == "application/json"
    assert json.loads(go[3]["data"]["content"]) == {"a": 1}


def frames(*results):
    return {
        "status": 200,
        "frames": [
            {"frame": f"data: {json.dumps({'jsonrpc': '2.0', 'id': '1', 'result': result})}"}
            for result in results
        ],
    }


def said(*parts, **more):
    return {
        "kind": "message",
        "messageId": "m",
        "taskId": "t",
        "role": "agent",
        "parts": list(parts),
        **more,
    }


TEXT = {"kind": "text", "text": "a"}
FILE = {"kind": "file", "file": {"uri": "https://x.example/i.png"}}
FINAL = {"kind": "status-update", "taskId": "t", "final": True, "status": {"state": "completed"}}


def whole(*parts, state="completed", **more):
    return {
        "kind": "task",
        "id": "t",
        "contextId": "c",
        "status": {"state": state},
        "history": [said(*parts)],
        **more,
    }


async def test_parts_only_in_the_task_are_not_lost():
    artifact = {"artifactId": "i", "parts": [{"kind": "file", "file": {"bytes": "YWJj"}}]}
    events = (said(TEXT), FINAL, whole(TEXT, FILE, artifacts=[artifact]))
    reply, _, _ = await ask(frames(*events))
    assert reply.text == "a"
    assert [file.url or file.content for file in reply.files] == ["https://x.example/i.png", b"abc"]


async def test_a_stream_may_end_with_its_final_status():
    reply, _, _ = await ask(frames(said(TEXT), FINAL))
    assert (reply.text, reply.state) == ("a", "completed")
    with pytest.raises(RemoteAnswerError, match="without an answer"):
        await ask(frames({**FINAL, "final": False, "status": {"state": "working"}}, FINAL))


async def test_reasoning_is_not_part_of_the_answer():
    thought = said({"kind": "text", "text": "hm"}, metadata={"agno_content_category": "reasoning"})
    reply, news, _ = await ask(frames(thought, said(TEXT), FINAL))
    assert reply.text == "a"
    assert Progress("hm") in news


@pytest.mark.parametrize(
    "event",
    [{"kind": "message", "parts": [{"kind": "odd"}]}, {"kind": "message", "parts": 3}, 3, None],
)
async def test_invalid_events_are_errors(event):
    with pytest.raises(RemoteAgentError):
        await ask(frames(event))


@pytest.mark.parametrize("url", ["nowhere", "ftp://host"])
def test_an_invalid_url_is_refused(url):
    with pytest.raises(ConfigurationError):
        agno_card(url, "agent")


async def test_concurrent_calls():
    app = replaying({STREAM: V3["stream"]})
    async with running(app) as url:
        agent = RemoteAgent(url + AGENT)
        calls = [agent.send(f"n{n}") for n in range(10)]
        sync = [asyncio.to_thread(agent.send_sync, f"s{n}") for n in range(10)]
        replies = await asyncio.gather(*calls, *sync)
        await agent.aclose()
        await asyncio.to_thread(agent.close)
    assert {reply.text for reply in replies} == {"agno reply to: Hello stream (user turns seen: 1)"}
    texts = sorted(sent["params"]["message"]["parts"][0]["text"] for sent in app.state.sent)
    assert texts == sorted([f"n{n}" for n in range(10)] + [f"s{n}" for n in range(10)])


async def test_a_page_that_is_not_json_is_an_error():
    page = {"status": 200, "headers": {"content-type": "text/html"}, "body_text": "<html>"}
    with pytest.raises(RemoteAnswerError, match="not JSON"):
        await ask(page)


@pytest.mark.parametrize(("path", "is_like_agno"), [("", False), ("/a2a", True), ("/a2abc", False)])
async def test_a_url_without_card_gets_a_hint_at_agno_if_it_matches(path, is_like_agno):
    async with running(replaying({})) as url, RemoteAgent(url + path) as agent:
        with pytest.raises(RemoteAnswerError, match="no agent card") as refused:
            await agent.send("hi")
    assert ("a2a_adapters_agno.agno_card" in str(refused.value)) == is_like_agno


def test_an_address_looks_like_agno_by_its_port():
    [hint] = installed_plugins().card_hints("http://host:7777")
    assert "a2a_adapters_agno.agno_card" in hint
    assert installed_plugins().card_hints("http://host:77770") == []


FAILING = (
    "error",
    "err ",
    "empty reply",
    "stream empty",
    "failure",
    "cancelled",
    "unknown",
    "missing",
)
EVERY = [
    pytest.param(exchange, versions, id=f"{server} {name}")
    for server, versions in (("3.1.10", V3), ("2.9.0", V2), ("go", GO))
    for name, exchange in versions.items()
    if name.removeprefix("LEGACY ").startswith(("send", "stream", "err"))
]


@pytest.mark.parametrize("is_streaming", [True, False])
@pytest.mark.parametrize(("exchange", "versions"), EVERY)
async def test_every_recorded_answer_is_an_answer_or_a_typed_error(
    exchange, versions, is_streaming
):
    later = versions.get("tasks:get after done")
    answers = dict.fromkeys((STREAM, SEND), exchange) | ({GET: later} if later else {})
    is_stream = "frames" in exchange or "body_text" in exchange
    fails = (
        exchange["status"] >= 400
        or any(word in exchange["name"] for word in FAILING)
        or (is_stream and not is_streaming)
    )
    async with running(replaying(answers)) as url, RemoteAgent(url + AGENT) as agent:
        card = await agent.card()
        card.capabilities.streaming = is_streaming
        async with RemoteAgent(card) as called:
            if fails:
                with pytest.raises(RemoteAgentError):
                    await called.send("hi")
                return
            reply = await called.send("hi")
    assert reply.state == "completed"
    assert reply.text
    said = json.dumps(reply.text)[1:-1]
    assert is_stream or said in json.dumps(exchange) or said in json.dumps(later)
