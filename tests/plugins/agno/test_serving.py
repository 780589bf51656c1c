"""Agno's clients, served by agents of ours."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import asynccontextmanager

import httpx
import pytest
from a2a_adapters_agno import agno_card
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from a2a_adapters import (
    BearerTokens,
    Data,
    File,
    InputRequired,
    Limits,
    Output,
    RemoteAgent,
    Reply,
    ServerOptions,
    Text,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.agno.recordings import AGENT, GO, V2, V3

ROOT = {"send": "/a2a/message/send", "stream": "/a2a/message/stream"}
CALLS = {method: f"{AGENT}/v1/message:{method}" for method in ("send", "stream")}


async def worker(request):
    """Do what is asked."""
    text = request.text
    match text:
        case "BOOM":
            raise RuntimeError("secret")
        case "ASK":
            answer = yield InputRequired("Which?")
            yield f"took {answer.text}"
        case "HANG":
            yield "waiting"
            await asyncio.Event().wait()
        case "TOOL":
            yield ToolCall("c", "add", {"a": 2})
            yield ToolResult("c", "add", 5)
            yield "added"
        case "PARTS":
            yield "text"
            yield Output([Data({"a": 1}), File(url="https://x.example/i.png")])
        case "DATA":
            yield Output([Data({"a": 1})])
        case "REPLY":
            yield Reply([Text("a reply")])
        case "SEEN":
            seen = [type(part).__name__ for part in request.parts]
            yield f"{seen} {request.metadata.get('userId')}"
        case _:
            for word in f"worked on {text}".split(" "):
                yield f"{word} "


def other(text: str) -> str:
    """Answer otherwise."""
    return f"other: {text}"


@asynccontextmanager
async def serving(target=worker, **options):
    app = build_app(target, dialects=["agno"], **{"name": "My Agent", **options})
    async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        yield http


def call(text, method="message/send", **message):
    parts = [{"kind": "text", "text": text}]
    sent = {"messageId": "m1", "role": "user", "parts": parts, **message}
    return {"jsonrpc": "2.0", "id": "r", "method": method, "params": {"message": sent}}


async def task_of(http, body, **more):
    response = await http.post(CALLS["send"], json=body, **more)
    assert response.status_code == 200, response.text
    return response.json()["result"]


def events(response):
    """Return the names and data of the events of a stream."""
    frames = [frame.split("\n") for frame in response.text.split("\n\n") if frame]
    return [(e.removeprefix("event: "), json.loads(d.removeprefix("data: "))) for e, d in frames]


async def streamed(http, text, **message):
    response = await http.post(CALLS["stream"], json=call(text, "message/stream", **message))
    assert response.headers["content-type"].startswith("text/event-stream"), response.text
    return [(name, data["result"]) for name, data in events(response)]


def test_ids_of_agents_are_fit_for_addresses():
    routes = build_app(worker, name="My Agent", dialects=["agno"]).routes
    assert AGENT.rpartition("/")[0] in str(routes)


async def test_the_card():
    async with serving() as http:
        card = (await http.get(f"{AGENT}/.well-known/agent-card.json")).json()
        unknown = await http.get("/a2a/agents/nope/.well-known/agent-card.json")
    recorded = V3[f"GET {AGENT}/.well-known/agent-card.json"]["body"]
    assert card.keys() == {key for key, value in recorded.items() if value is not None}
    assert card["url"].endswith(f"{AGENT}/v1/message:stream")
    assert (card["name"], card["protocolVersion"]) == ("My Agent", "0.3.0")
    assert (unknown.status_code, unknown.json()) == (404, {"detail": "Agent not found"})


async def test_a_send_is_answered_by_a_task():
    async with serving() as http:
        task = await task_of(http, call("x", contextId="c1"))
    recorded = V3["send"]["body"]["result"]
    assert task.keys() == recorded.keys()
    assert task["history"][0].keys() == recorded["history"][0].keys()
    assert (task["contextId"], task["status"]) == ("c1", {"state": "completed"})
    assert task["history"][0]["parts"] == [{"kind": "text", "text": "worked on x "}]


async def test_a_stream_has_the_order_of_agno():
    async with serving() as http:
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


async def test_data_alone_is_told_as_text_as_well():
    expected = [{"kind": "text", "text": '{"a":1}'}, {"kind": "data", "data": {"a": 1}}]
    async with serving() as http:
        answered = await task_of(http, call("DATA"))
        found = await streamed(http, "DATA")
        sent = await http.post("/a2a/message/send", json=call("DATA", agentId="my-agent"))
    assert answered["history"][0]["parts"] == expected
    assert found[-1][1]["history"][0]["parts"] == expected
    assert [p for name, result in found if name == "Message" for p in result["parts"]] == expected
    assert sent.json()["result"]["task"]["history"][-1]["parts"][0] == expected[0]


async def test_tools_are_told_in_a_stream():
    async with serving() as http:
        found = await streamed(http, "TOOL")
    told = [
        result["metadata"] for _, result in found if "agno_event_type" in result.get("metadata", {})
    ]
    assert told == [
        {
            "agno_event_type": "tool_call_started",
            "tool_name": "add",
            "tool_call_id": "c",
            "tool_args": '{"a":2}',
        },
        {"agno_event_type": "tool_call_completed", "tool_name": "add", "tool_call_id": "c"},
    ]


async def test_files_and_data_go_both_ways():
    parts = [
        {"text": "SEEN"},
        {"kind": "file", "file": {"uri": "https://x.example/i.png", "mimeType": "image/png"}},
        {"kind": "file", "file": {"bytes": "YWJj", "name": "a.bin"}},
        {"kind": "data", "data": {"a": 1}},
    ]

    async with serving() as http:
        answered = await task_of(http, call("PARTS"))
        found = await streamed(http, "PARTS")
        seen = await task_of(
            http, call("", parts=[parts[0], parts[3]]), headers={"X-User-ID": "u1"}
        )
    kinds = [part["kind"] for part in answered["history"][0]["parts"]]
    assert kinds == ["text", "data", "file"]
    assert answered["history"][0]["parts"][2]["file"] == {"uri": "https://x.example/i.png"}
    assert [p["kind"] for p in found[-1][1]["history"][0]["parts"]] == kinds
    streamed_kinds = [p["kind"] for n, result in found if n == "Message" for p in result["parts"]]
    assert streamed_kinds == kinds
    assert seen["history"][0]["parts"][0]["text"] == "['Text', 'Data'] u1"


async def test_data_without_text_is_text_as_well():
    async def tell(request):
        yield Output([Data({"a": 1})])

    async with serving(tell) as http:
        task = await task_of(http, call("x"))
        found = await streamed(http, "x")
        sent = await http.post(ROOT["send"], json=call("x", agentId="my-agent"))
    parts = [{"kind": "text", "text": '{"a":1}'}, {"kind": "data", "data": {"a": 1}}]
    assert task["history"][0]["parts"] == parts
    assert [p for name, each in found if name == "Message" for p in each["parts"]] == parts
    assert found[-1][1]["history"][0]["parts"] == parts
    assert sent.json()["result"]["task"]["history"][1]["parts"][0] == parts[0]


@pytest.mark.parametrize("how", ["send", "stream"])
async def test_an_unknown_task_at_the_root_is_told_so(how):
    async with serving() as http:
        body = call("x", f"message/{how}", agentId="my-agent", taskId="nope")
        response = await http.post(ROOT[how], json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (404, -32001)


@pytest.mark.parametrize(
    "path", ["/a2a/message/send", "/a2a/agents/my-agent/v1/message:send", "/a2a"]
)
async def test_a_client_that_leaves_is_no_error(path):
    async def leave():
        return {"type": "http.disconnect"}

    async def send(message):
        raise AssertionError("nobody is there")

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


@pytest.mark.parametrize("path", ["/a2a/message/send", "/a2a/agents/my-agent/v1/message:send"])
async def test_a_body_that_is_not_labelled_as_json_is_refused(path):
    async with serving() as http:
        content = json.dumps(call("x", agentId="my-agent"))
        response = await http.post(path, content=content, headers={"Content-Type": "text/plain"})
    assert response.status_code == 400


async def test_who_is_not_let_in_is_told_as_by_fastapi():
    options = ServerOptions(authentication=BearerTokens({"a-key": "ann"}))
    async with serving(options=options) as http:
        response = await http.post(CALLS["send"], json=call("x"))
    assert response.status_code == 401
    assert response.headers["www-authenticate"]
    assert response.json().keys() == {"detail"}


async def test_failures_are_told_in_the_task():
    async with serving() as http:
        task = await task_of(http, call("BOOM"))
        found = await streamed(http, "BOOM")
    for failed in (task, found[-1][1]):
        assert failed["status"] == {"state": "failed"}
        assert "Error id" in failed["history"][0]["parts"][0]["text"]
        assert "secret" not in str(failed)
    assert found[-2][1]["status"] == {"state": "failed"}


async def test_a_question_is_answered_on_its_task():
    async with serving() as http:
        asked = await task_of(http, call("ASK"))
        assert asked["status"] == {"state": "input-required"}
        assert asked["history"][0]["parts"] == [{"kind": "text", "text": "Which?"}]
        ids = {"taskId": asked["id"], "contextId": asked["contextId"]}
        done = await task_of(http, call("this", **ids))
    assert (done["id"], done["history"][0]["parts"][0]["text"]) == (asked["id"], "took this")


async def test_tasks_run_in_the_background_and_are_polled():
    async with serving() as http:
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


async def test_agno_s_own_client_may_speak_json_rpc():
    """It posts everything to the agent's address then."""
    async with serving() as http:
        for address in (AGENT, f"{AGENT}/"):
            sent = await http.post(address, json=call("x"))
            assert sent.json()["result"]["history"][0]["parts"][0]["text"] == "worked on x "
            stream = await http.post(address, json=call("x", "message/stream"))
            assert events(stream)[-1][0] == "Task"


RECORDED = {
    **{f"3.1.10 {name}": exchange for name, exchange in V3.items()},
    **{f"2.9.0 {name}": exchange for name, exchange in V2.items()},
}
OTHERWISE = {
    "send empty parts": 400,  # a message without any content
    "send bad json": 400,  # theirs breaks
    "send team": 404,
    "tasks:cancel unknown": 404,  # theirs says yes to everything
    "tasks:cancel completed": 404,
    "tasks:cancel running": 404,
    "tasks:get after done": 404,  # tasks of theirs are none of ours
    "tasks:get while running": 404,
    "tasks:get completed": 404,
    "tasks:get after cancel": 404,
    "LEGACY route on current version": 200,
    "LEGACY send team id in agentId": 404,
    "LEGACY model error": 500,  # as Agno-Go tells it
    "POST /a2a/agents/my-agent (standard A2A url)": 200,
}


async def test_recorded_requests_of_python_clients_are_answered(subtests):
    async with serving() as http:
        for name, exchange in RECORDED.items():
            request = exchange.get("request", {})
            if request.get("method") != "POST" or "/teams/" in request["path"]:
                continue
            with subtests.test(name):
                body = request["body"]
                content = body if isinstance(body, str) else json.dumps(body)
                response = await http.post(
                    request["path"], content=content, headers=request["headers"]
                )
                short = name.split(" ", 1)[1]
                assert response.status_code == OTHERWISE.get(short, exchange["status"])
                if response.status_code >= 400:
                    assert response.json().keys() in ({"detail"}, {"jsonrpc", "id", "error"})
                elif not response.headers["content-type"].startswith("text/event-stream"):
                    assert response.json()["id"] == body["id"]
                    assert "result" in response.json()
                else:
                    assert "data: " in response.text


LENIENT = {
    "err int id",
    "err part without kind",
    "err empty text",
    "err no messageId",
    "send A2A v0.3 data part (data is the object)",
}
GO_POSTS = sorted(
    name
    for name, exchange in GO.items()
    if exchange["request"]["method"] == "POST" and exchange["request"]["path"] in ROOT.values()
)


@pytest.mark.parametrize("name", GO_POSTS)
async def test_recorded_requests_of_agno_go_are_answered(name):
    exchange = GO[name]
    body = exchange["request"]["body"]
    content = body if isinstance(body, str) else json.dumps(body)
    async with serving() as http:
        response = await http.post(exchange["request"]["path"], content=content)
    if name in LENIENT:
        assert response.status_code == 200
        return
    assert response.status_code == exchange["status"]
    if "body" not in exchange:
        [(kind, data)] = events(response)
        wanted = exchange["body_text"].removeprefix("event: ").split("\ndata: ")
        assert (kind, data.keys()) == (wanted[0], json.loads(wanted[1]).keys())
        return
    got, wanted = response.json(), exchange["body"]
    assert (got.keys(), got["id"]) == (wanted.keys(), wanted["id"])
    if "error" in wanted:
        assert got["error"]["code"] == wanted["error"]["code"]
        return
    ours, theirs = got["result"]["task"], wanted["result"]["task"]
    assert ours.keys() == theirs.keys()
    assert ours["status"] == "completed"
    assert [m["role"] for m in ours["history"]] == ["user", "agent"]
    assert ours["history"][1].keys() == theirs["history"][1].keys()
    assert re.fullmatch(r"[\d-]+T[\d:]+Z", ours["history"][1]["timestamp"])


async def test_failures_at_the_root():
    async with serving() as http:
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


async def test_data_of_agno_go_comes_out_of_its_envelope():
    data = {"content": '{"k": "v"}', "mimeType": "application/json"}
    parts = [{"kind": "text", "text": "a"}, {"kind": "data", "data": data}]

    async def show(request):
        yield str([part.value for part in request.parts[1:]])

    async with serving(show) as http:
        sent = await http.post(ROOT["send"], json=call("", agentId="my-agent", parts=parts))
    assert sent.json()["result"]["task"]["history"][1]["parts"][0]["text"] == "[{'k': 'v'}]"


async def test_our_own_remote_agent_is_served_too():
    async with serving() as http:
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


async def test_an_agent_with_too_much_to_do():
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


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
parts = st.lists(
    st.dictionaries(st.sampled_from(["kind", "text", "file", "data"]), json_values, max_size=3)
    | json_values,
    max_size=3,
)
messages = st.fixed_dictionaries(
    {"role": st.just("user") | json_values, "parts": parts | json_values},
    optional={
        "agentId": st.just("my-agent") | json_values,
        "messageId": json_values,
        "contextId": json_values,
        "taskId": json_values,
        "metadata": json_values,
    },
)
calls = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | json_values, "id": st.text() | json_values},
    optional={
        "method": st.sampled_from(["message/send", "message/stream", "tasks/get", "tasks/cancel"])
        | json_values,
        "params": st.fixed_dictionaries({"message": messages}) | json_values,
    },
)
paths = st.sampled_from(
    [*ROOT.values(), *CALLS.values(), f"{AGENT}/v1/tasks:get", f"{AGENT}/v1/tasks:cancel", AGENT]
)


def test_wrong_bodies_get_errors():
    async def post_all(posts):
        app = build_app(other, dialects=["agno"], name="My Agent")
        transport = httpx.ASGITransport(app, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            for path, content in posts:
                response = await http.post(path, content=content)
                if not response.headers["content-type"].startswith("text/event-stream"):
                    answer = response.json()
                    assert answer.keys() & {"result", "error", "detail"}

    @settings(deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.tuples(paths, (json_values | calls).map(json.dumps) | st.binary())))
    def check(posts):
        asyncio.run(post_all([*posts, (CALLS["send"], "[" * 5000)]))

    check()
