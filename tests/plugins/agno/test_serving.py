"""Serving Agno's clients."""

from __future__ import annotations

import json

import httpx
import pytest
from a2a_adapters_agno import agno_card

from a2a_adapters import BearerTokens, Limits, RemoteAgent, ServerOptions, build_app
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.agno.recordings import AGENT, V3
from tests.plugins.agno.served import (
    CALLS,
    ROOT,
    call,
    events,
    other,
    serving,
    streamed,
    task_of,
    worker,
)


async def test_the_card(http):
    card = (await http.get(f"{AGENT}/.well-known/agent-card.json")).json()
    unknown = await http.get("/a2a/agents/nope/.well-known/agent-card.json")
    recorded = V3[f"GET {AGENT}/.well-known/agent-card.json"]["body"]
    assert card.keys() == {key for key, value in recorded.items() if value is not None}
    assert card["url"].endswith(f"{AGENT}/v1/message:stream")
    assert (card["name"], card["protocolVersion"]) == ("My Agent", "0.3.0")
    assert (unknown.status_code, unknown.json()) == (404, {"detail": "Agent not found"})


async def test_a_send_returns_a_task(http):
    task = await task_of(http, call("x", contextId="c1"))
    recorded = V3["send"]["body"]["result"]
    assert task.keys() == recorded.keys()
    assert task["history"][0].keys() == recorded["history"][0].keys()
    assert (task["contextId"], task["status"]) == ("c1", {"state": "completed"})
    assert task["history"][0]["parts"] == [{"kind": "text", "text": "worked on x "}]


async def test_stream_events_follow_agnos_order(http):
    found = await streamed(http, "x", contextId="s1")
    names = [name for name, _ in found]
    status = "TaskStatusUpdateEvent"
    assert names == [status, "Message", "Message", "Message", status, "Task"]
    deltas = [result["parts"][0]["text"] for name, result in found if name == "Message"]
    assert "".join(deltas) == found[-1][1]["history"][0]["parts"][0]["text"] == "worked on x "
    recorded = [json.loads(f["frame"].split("data: ")[1]) for f in V3["stream"]["frames"]]
    for (_, ours), theirs in zip(
        (found[0], found[1], found[-2]), (recorded[0], recorded[1], recorded[-2]), strict=True
    ):
        assert ours.keys() == theirs["result"].keys()
    assert (found[0][1]["final"], found[-2][1]["final"]) == (False, True)
    assert {result["contextId"] for _, result in found} == {"s1"}
    assert len({result["messageId"] for name, result in found if name == "Message"}) == 1


async def test_tool_calls_appear_in_a_stream(http):
    found = await streamed(http, "TOOL")
    reports = [
        result["metadata"] for _, result in found if "agno_event_type" in result.get("metadata", {})
    ]
    assert reports == [
        {
            "agno_event_type": "tool_call_started",
            "tool_name": "add",
            "tool_call_id": "c",
            "tool_args": '{"a":2}',
        },
        {"agno_event_type": "tool_call_completed", "tool_name": "add", "tool_call_id": "c"},
    ]


@pytest.mark.parametrize("how", ["send", "stream"])
async def test_an_unknown_task_at_the_root_is_reported(http, how):
    body = call("x", f"message/{how}", agentId="my-agent", taskId="nope")
    response = await http.post(ROOT[how], json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (404, -32001)


@pytest.mark.parametrize(
    "path", ["/a2a/message/send", "/a2a/agents/my-agent/v1/message:send", "/a2a"]
)
async def test_a_disconnect_is_not_an_error(path):
    async def leave():
        return {"type": "http.disconnect"}

    async def send(message):
        raise AssertionError("disconnected")

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "scheme": "http",
        "http_version": "1.1",
        "headers": [*headers, (b"content-length", b"10")],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
    }
    app = build_app(worker, name="My Agent", dialects=["agno", "omniroute"])
    await app(scope, leave, send)


async def test_refused_callers_get_fastapi_errors():
    options = ServerOptions(authentication=BearerTokens({"a-key": "ann"}))
    async with serving(options=options) as http:
        response = await http.post(CALLS["send"], json=call("x"))
    assert response.status_code == 401
    assert response.headers["www-authenticate"]
    assert response.json().keys() == {"detail"}


async def test_failures_are_in_the_task(http):
    task = await task_of(http, call("BOOM"))
    found = await streamed(http, "BOOM")
    for failed in (task, found[-1][1]):
        assert failed["status"] == {"state": "failed"}
        assert "Error id" in failed["history"][0]["parts"][0]["text"]
        assert "secret" not in str(failed)
    assert found[-2][1]["status"] == {"state": "failed"}


async def test_a_question_is_answered_on_its_task(http):
    asked = await task_of(http, call("ASK"))
    assert asked["status"] == {"state": "input-required"}
    assert asked["history"][0]["parts"] == [{"kind": "text", "text": "Which?"}]
    ids = {"taskId": asked["id"], "contextId": asked["contextId"]}
    done = await task_of(http, call("this", **ids))
    assert (done["id"], done["history"][0]["parts"][0]["text"]) == (asked["id"], "took this")


async def test_tasks_run_in_the_background_and_are_polled(http):
    body = call("HANG", contextId="cbg")
    body["params"]["configuration"] = {"blocking": False}
    begun = await http.post(CALLS["send"], json=body)
    task = begun.json()["result"]
    assert (begun.status_code, task["contextId"]) == (202, "cbg")
    assert task["status"]["state"] in ("submitted", "working")

    async def about(method, **params):
        sent = {"jsonrpc": "2.0", "id": "g", "method": f"tasks/{method}", "params": params}
        return await http.post(f"{AGENT}/v1/tasks:{method}", json=sent)

    got = await about("get", id=task["id"], contextId="cbg")
    assert got.json()["result"]["status"]["state"] == "working"
    assert (await about("get", id=task["id"], contextId="other")).status_code == 404
    cancelled = await about("cancel", id=task["id"], contextId="cbg")
    assert cancelled.json()["result"]["status"] == {"state": "canceled"}
    assert (await about("cancel", id=task["id"])).status_code == 400
    assert (await about("get", id="nope", contextId="c")).json() == {"detail": "Task not found"}
    assert "contextId is required" in (await about("get", id=task["id"])).json()["detail"]
    assert "is required" in (await about("get", contextId="c")).json()["detail"]


async def test_failures_at_the_root(http):
    body = call("BOOM", agentId="my-agent")
    sent = await http.post(ROOT["send"], json=body)
    stream = await http.post(ROOT["stream"], json={**body, "method": "message/stream"})
    assert (sent.status_code, sent.json()["error"]["code"]) == (500, -32603)
    [(kind, data)] = events(stream)
    assert (kind, data["status"], data["error"]["code"]) == ("error", "failed", "execution_error")
    assert "secret" not in sent.text + stream.text


async def test_an_agent_is_chosen_by_its_id():
    async with serving({"one": worker, "two": other}, name=None) as http:
        named = await http.post(ROOT["send"], json=call("x", agentId="two"))
        header = await http.post(ROOT["send"], json=call("x"), headers={"X-Agent-ID": "two"})
        own = await http.post("/a2a/agents/two/v1/message:send", json=call("x"))
        unknown = await http.post(ROOT["send"], json=call("x", agentId="three"))
    texts = [r.json()["result"]["task"]["history"][1]["parts"][0]["text"] for r in (named, header)]
    assert texts == ["other: x", "other: x"]
    assert own.json()["result"]["history"][0]["parts"][0]["text"] == "other: x"
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, -32000)


async def test_remote_agent_is_served_as_well(http):
    url = str(http.base_url)
    for card in (f"{url}{AGENT}", agno_card(url, "my-agent")):
        async with RemoteAgent(card) as agent:
            assert (await agent.send("x")).text == "worked on x "
            reply = await agent.send("PARTS")
            assert (reply.text, reply.data) == ("text", [{"a": 1}])
            conversation = agent.conversation()
            assert (await conversation.send("ASK")).is_question
            assert (await conversation.send("that")).text == "took that"


async def test_callers_see_their_own_tasks_only():
    options = ServerOptions(authentication=BearerTokens({"a-key": "ann", "b-key": "bob"}))
    async with serving(options=options) as http:
        ann, bob = ({"Authorization": f"Bearer {name}-key"} for name in "ab")
        task = await task_of(http, call("x", contextId="c"), headers=ann)
        params = {"id": task["id"], "contextId": "c"}
        body = {"jsonrpc": "2.0", "id": "g", "method": "tasks/get", "params": params}
        get = f"{AGENT}/v1/tasks:get"
        assert (await http.post(get, json=body, headers=ann)).status_code == 200
        assert (await http.post(get, json=body, headers=bob)).status_code == 404
        assert (await http.post(get, json=body)).status_code == 401
        assert (await http.get(f"{AGENT}/.well-known/agent-card.json")).status_code == 200


async def test_standard_clients_and_both_dialects_share_the_port():
    app = build_app(worker, dialects=["agno", "omniroute"], name="My Agent")
    async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        assert (await task_of(http, call("x")))["status"]["state"] == "completed"
        spoken = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "message/send",
            "params": {"messages": [{"role": "user", "content": "x"}]},
        }
        assert (await http.post("/a2a", json=spoken)).json()["result"]["artifacts"]
        async with connect(url) as client:
            assert answer_of(await send(client, user_message("x"))) == "worked on x "


async def test_a_busy_agent():
    options = ServerOptions(limits=Limits(runs=1, queued_runs=0))
    async with serving(options=options) as http:
        body = call("HANG")
        body["params"]["configuration"] = {"blocking": False}
        assert (await http.post(CALLS["send"], json=body)).status_code == 202
        assert (await http.post(CALLS["send"], json=call("x"))).status_code == 503
        stream = await http.post(CALLS["stream"], json=call("x", "message/stream"))
        assert stream.status_code == 503
        at_root = await http.post(ROOT["send"], json=call("x", agentId="my-agent"))
        assert at_root.status_code == 503
