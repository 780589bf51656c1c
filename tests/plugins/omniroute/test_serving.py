"""OmniRoute's clients, served by agents of ours."""

from __future__ import annotations

import asyncio
import gc
import json
import re
from contextlib import asynccontextmanager

import httpx
import pytest
from a2a.server.agent_execution import AgentExecutor
from a2a.types import CancelTaskRequest, ListTasksRequest, Message, Part, Role, TaskState
from a2a_adapters_omniroute import (
    NO_PROVIDER,
    OVER_BUDGET,
    OmniRouteClient,
    OmniRouteDialect,
    OmniRouteTaskNotFoundError,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from a2a_adapters import (
    AuthRequired,
    BearerTokens,
    ConfigurationError,
    Data,
    File,
    InputRequired,
    InvalidInputError,
    Limits,
    Output,
    Rejected,
    RemoteAgent,
    Reply,
    ServerOptions,
    TaskMetadata,
    Text,
    build_app,
)
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.omniroute.gateways import EXCHANGES

STATES = ["submitted", "working", "completed"]


async def writer(request):  # noqa: C901 - a behaviour each
    """Write what is asked for."""
    text = request.text
    match text:
        case "FAIL":
            raise RuntimeError("secret")
        case "REJECT":
            yield Rejected("not my job")
        case "ASK":
            yield InputRequired("Which one?")
        case "LOGIN":
            yield AuthRequired("Who are you?")
        case "REFUSE":
            raise InvalidInputError("send something else")
        case "HANG":
            yield "waiting"
            await asyncio.Event().wait()
        case "PARTS":
            yield "text"
            yield Output([Data({"a": 1})])
            yield Output([File(url="https://x.example/f.png", media_type="image/png")])
            yield Output([File(content=b"abc", filename="a.bin")])
        case "NOTHING":
            return
        case "TELL":
            yield "told"
            yield TaskMetadata({"usage": {"total_tokens": 3}, "model": "m-1", "private": 1})
        case "COST":
            yield "told"
            yield TaskMetadata({"cost_envelope": {"actual": 1, "currency": "USD"}})
        case _:
            for word in f"written: {text}".split(" "):
                yield f"{word} "


def reviewer(text: str) -> str:
    """Review what is sent."""
    return f"reviewed: {text}"


@asynccontextmanager
async def serving(target=writer, dialect="omniroute", **options):
    """Yield plain HTTP to a server of the dialect."""
    app = build_app(target, dialects=[dialect], **options)
    async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        yield http


def body(method, call_id="1", **params):
    return {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}


def asking(text, method="message/send", **params):
    return body(method, messages=[{"role": "user", "content": text}], **params)


async def result(http, call):
    response = await http.post("/a2a", json=call)
    assert response.status_code == 200, response.text
    return response.json()["result"]


async def events(http, call):
    """Return the parameters of the events of a stream, and its comments."""
    async with http.stream("POST", "/a2a", json=call) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = [line async for line in response.aiter_lines()]
    found = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    assert {(e["jsonrpc"], e["method"], "id" in e) for e in found} == {
        ("2.0", "message/stream", False)
    }
    return [e["params"] for e in found], [line for line in lines if line.startswith(":")]


async def test_a_python_orchestrator():
    """Reads the card, sends, prints cost and route: as the description's program does."""
    async with serving() as http:
        card = (await http.get("/.well-known/agent.json")).json()
        response = await http.post(
            card["url"],
            headers={"Authorization": "Bearer any", "Content-Type": "application/json"},
            json={
                "jsonrpc": "2.0",
                "id": "1",
                "method": "message/send",
                "params": {
                    "skill": "smart-routing",
                    "messages": [{"role": "user", "content": "Write hello world"}],
                    "metadata": {"model": "auto", "combo": "fast-coding"},
                },
            },
        )
    assert card["name"] == "writer"
    assert card["url"].endswith("/a2a")
    assert card["capabilities"] == {"streaming": True, "pushNotifications": False}
    assert card["authentication"] == {"schemes": ["bearer"], "apiKeyHeader": "Authorization"}
    assert "smart-routing" in [skill["id"] for skill in card["skills"]]
    assert all(
        skill.keys() == {"id", "name", "description", "tags", "examples"}
        for skill in card["skills"]
    )
    answered = response.json()["result"]
    assert answered["artifacts"][0]["content"] == "written: Write hello world "
    assert answered["task"]["state"] == "completed"
    assert answered["metadata"].get("routing_explanation") is None


async def test_a_typescript_client_reads_the_stream_by_lines():
    async with serving() as http:
        text, state, buffer = "", "", ""
        call = asking("Explain", "message/stream", skill="smart-routing")
        async with http.stream("POST", "/a2a", json=call) as response:
            async for piece in response.aiter_text():
                buffer += piece
                *lines, buffer = buffer.split("\n")
                for line in lines:
                    if line.startswith("data: "):
                        event = json.loads(line[6:])
                        if event["params"].get("chunk"):
                            text += event["params"]["chunk"]["content"]
                        state = event["params"]["task"]["state"]
    assert (text, state) == ("written: Explain ", "completed")


async def test_a_go_client_sends_numbers_for_ids_and_reads_into_structs():
    async with serving() as http:
        call = asking("go", skill="smart-routing", metadata={}) | {"id": 7}
        response = await http.post("/a2a", content=json.dumps(call).encode())
    answered = response.json()
    assert answered["id"] == 7
    assert answered.keys() == {"jsonrpc", "id", "result"}
    assert answered["result"].keys() == {"task", "artifacts", "metadata"}
    assert answered["result"]["task"].keys() == {"id", "state"}
    assert answered["result"]["artifacts"] == [{"type": "text", "content": "written: go "}]


async def test_polling_and_cancelling_at_a_time_limit():
    async with serving() as http, hanging(http) as (task, rest):
        asked = await result(http, body("tasks/get", taskId=task))
        assert asked["task"]["state"] == "working"
        cancelled = await result(http, body("tasks/cancel", taskId=task))
        assert cancelled == {"task": {"id": task, "state": "cancelled"}}
        gone = await result(http, body("tasks/get", id=task))
        states = [event["state"] for event in gone["task"]["events"]]
        assert states == ["submitted", "working", "cancelled"]
        again = await http.post("/a2a", json=body("tasks/cancel", taskId=task))
        assert (again.status_code, again.json()["error"]["code"]) == (409, -32002)
        assert [event["params"]["task"]["state"] for event in await rest()] == ["cancelled"]


@asynccontextmanager
async def hanging(http):
    """Yield a task whose agent hangs after its first words, and what reads the rest of it."""
    call = asking("HANG", "message/stream")
    async with http.stream("POST", "/a2a", json=call) as response:
        lines = response.aiter_lines()
        named = json.loads((await anext(lines)).removeprefix("data: "))["params"]
        assert named["chunk"] == {"type": "text", "content": ""}
        assert await anext(lines) == ""
        first = json.loads((await anext(lines)).removeprefix("data: "))["params"]
        assert first["chunk"] == {"type": "text", "content": "waiting"}

        async def rest():
            return [json.loads(line[6:]) async for line in lines if line.startswith("data: ")]

        yield first["task"]["id"], rest


async def test_who_waits_is_told_of_the_cancelling():
    async with serving() as http, connect(str(http.base_url)) as client:
        waiting = asyncio.create_task(http.post("/a2a", json=asking("HANG")))
        tasks = []
        while not tasks:
            tasks = (await client.list_tasks(ListTasksRequest())).tasks
        await client.cancel_task(CancelTaskRequest(id=tasks[0].id))
        answered = (await waiting).json()["result"]
    assert (answered["task"]["state"], answered["artifacts"]) == ("cancelled", [])


async def test_a_dashboard_on_the_stream():
    """Shows chunks as they come, knows heartbeats, and ends with the state."""
    async with serving(dialect=OmniRouteDialect(heartbeat_seconds=0.05)) as http:
        found, comments = await events(http, asking("a b", "message/stream"))
        assert [e["chunk"]["content"] for e in found[:-1]] == ["", "written: ", "a ", "b "]
        assert {e["task"]["state"] for e in found[:-1]} == {"working"}
        assert found[-1].keys() == {"task", "metadata"}
        assert found[-1]["task"] == {"id": found[0]["task"]["id"], "state": "completed"}
        assert comments == []
        call = asking("HANG", "message/stream")
        async with http.stream("POST", "/a2a", json=call) as response:
            async for line in response.aiter_lines():
                if line.startswith(":"):
                    assert re.fullmatch(r": heartbeat \d{4}-\d\d-\d\dT[\d:.]+Z", line)
                    break


async def test_a_swarm_asks_for_quota_first():
    async with serving({"quota-management": reviewer, "writer": writer}) as http:
        quota = await result(http, asking("free?", skill="quota-management"))
        assert quota["artifacts"][0]["content"] == "reviewed: free?"
        verdict = quota["metadata"].get("policy_verdict", {"allowed": True})
        assert verdict["allowed"]
    async with serving() as http:
        refused = await http.post("/a2a", json=asking("free?", skill="quota-management"))
    assert refused.status_code == 404
    assert refused.json()["error"] == {"code": -32601, "message": "Unknown skill: quota-management"}


async def test_skills_are_the_agents_that_are_served():
    async with serving({"writer": writer, "Reviewer_2": reviewer}) as http:
        card = (await http.get("/.well-known/agent.json")).json()
        ids = [skill["id"] for skill in card["skills"]]
        assert ids[:3] == ["writer", "Reviewer_2", "smart-routing"]
        answers = [
            (await result(http, asking("x", skill=skill)))["artifacts"][0]["content"]
            for skill in ("writer", "Reviewer_2", "smart-routing", "")
        ]
    assert answers == ["written: x ", "reviewed: x", "written: x ", "written: x "]


async def test_our_own_client_is_served_too():
    async with serving() as http, OmniRouteClient(str(http.base_url)) as client:
        reply = await client.send("smart-routing", "a")
        assert reply.text == "written: a "
        assert (await client.wait(reply.task_id)).text == reply.text
        task = await client.get_task(reply.task_id)
        assert [event["state"] for event in task.events] == STATES
        card = await client.discover()
        assert card.skills[0].name == "writer"
        streamed = [event async for event in client.stream("smart-routing", "a b")]
        assert streamed[-1].text == "written: a b "
        with pytest.raises(OmniRouteTaskNotFoundError):
            await client.get_task("nope")


async def test_what_a_task_record_holds():
    async with serving() as http:
        call = asking("x", skill="smart-routing", metadata={"model": "auto"})
        sent = await result(http, call)
        record = (await result(http, body("tasks/get", taskId=sent["task"]["id"])))["task"]
    recorded = EXCHANGES["tasks/get completed"]["body"]["result"]["task"]
    assert record.keys() == recorded.keys()
    assert record["input"] == call["params"]
    assert record["artifacts"] == sent["artifacts"]
    assert record["metadata"] == {"model": "auto"}
    assert [event["state"] for event in record["events"]] == STATES
    assert all(event.keys() == {"timestamp", "state"} for event in record["events"])


SHAPES = sorted(
    name
    for name, exchange in EXCHANGES.items()
    if exchange.get("request", {}).get("path") == "/a2a"
    and exchange["request"]["method"] == "POST"
    and "SLOW" not in str(exchange["request"]["body"])
)
# Ours says more than the real server, or otherwise, where the description tells it to.
DIFFERENT = {
    "err body null": (400, -32600),  # the real one breaks
    "tasks/get unknown": (404, -32001),
    "tasks/cancel unknown": (404, -32001),
    "tasks/get completed": (404, -32001),  # its task was never ours
    "tasks/get by params.id": (404, -32001),
    "tasks/cancel completed": (404, -32001),
    "tasks/get working (message/send)": (404, -32001),
}
NOT_OURS = {
    "quota skill",
    "provider-discovery skill",
    "health-report skill",
    "stream quota",
}
# What their gateway fails at, our agent answers.
PROVIDERS = {
    "send unknown model",
    "send empty reply",
    "err upstream 500",
    "err upstream 401",
    "err upstream 429",
    "stream empty reply",
    "stream unknown model",
}


@pytest.mark.parametrize("key", ["none", "bearer"])
async def test_recorded_requests_get_answers_of_the_same_shape(key, subtests):
    tokens = None if key == "none" else BearerTokens({"local-key": "ann"})
    options = ServerOptions(authentication=tokens)
    async with serving(options=options) as http:
        for name in SHAPES:
            with subtests.test(name):
                await compare(http, name, is_open=tokens is None)


async def compare(http, name, *, is_open):
    exchange = EXCHANGES[name]
    sent = exchange["request"]["body"]
    text = sent if isinstance(sent, str) else json.dumps(sent)
    headers = {"Content-Type": "application/json"}
    key = exchange["request"]["headers"].get("Authorization", "").removeprefix("Bearer ")
    is_known = key not in ("", "wrong-key", "wrong")
    headers["Authorization"] = "Bearer local-key" if is_known else "Bearer wrong"
    response = await http.post("/a2a", content=text, headers=headers)
    if "auth" in name:
        if is_open:
            assert response.status_code == 200
            return
        assert response.status_code == exchange["status"] == 400
        wanted = EXCHANGES["err missing auth"]["body"]
        got = response.json()
        assert (got.keys(), got["id"]) == (wanted.keys(), None)
        assert got["error"]["code"] == wanted["error"]["code"] == -32600
        assert got["error"]["message"].startswith("Unauthorized: ")
        return
    if response.headers["content-type"].startswith("text/event-stream"):
        assert name.startswith("stream") or "message/stream" in text
        last = [line for line in response.text.splitlines() if line.startswith("data: ")][-1]
        assert json.loads(last[6:])["params"]["task"]["state"] == "completed"
        return
    got = response.json()
    if name in NOT_OURS:
        assert (response.status_code, got["error"]["code"]) == (404, -32601)
    elif name in PROVIDERS:
        assert got["result"]["task"]["state"] == "completed"
    elif name in DIFFERENT or ("tasks/" in name and "no id" not in name):
        expected = DIFFERENT.get(name, (404, -32001))
        assert (response.status_code, got["error"]["code"]) == expected
    else:
        assert response.status_code == exchange["status"]
        wanted = exchange.get("body") or json.loads(exchange["frames"][0]["tail"])
        assert (got.keys(), got["id"]) == (wanted.keys(), wanted["id"])
        if "error" in wanted:
            assert got["error"]["code"] == wanted["error"]["code"]
        else:
            assert got["result"].keys() == wanted["result"].keys()
            assert got["result"]["task"].keys() == wanted["result"]["task"].keys()
            assert got["result"]["artifacts"][0].keys() == {"type", "content"}


async def test_a_dialogue_says_who_said_what():
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "b"},
    ]
    async with serving(reviewer) as http:
        got = await result(http, body("message/send", messages=messages))
    assert got["artifacts"][0]["content"] == "reviewed: System: be brief\nUser: a\nUser: b"


@pytest.mark.parametrize(
    "params",
    [
        {"message": {"content": "x"}},
        {"message": {"role": "user", "content": "x"}},
        {"message": {"role": "user", "parts": [{"kind": "text", "text": "x"}]}},
        {"messages": [{"content": "x"}]},
        {"messages": [{"role": "user", "content": "x"}, {"role": "user", "content": ""}, 3]},
    ],
)
async def test_all_forms_of_messages_are_taken(params):
    async with serving(reviewer) as http:
        got = await result(http, body("message/send", **params))
    assert got["artifacts"] == [{"type": "text", "content": "reviewed: x"}]


async def test_results_of_all_kinds_are_sent():
    async with serving() as http:
        sent = await result(http, asking("PARTS"))
        found, _ = await events(http, asking("PARTS", "message/stream"))
    texts = [a["content"] for a in sent["artifacts"] if a["type"] == "text"]
    assert texts[0] == "text"
    assert json.loads(texts[1]) == {"a": 1}
    files = [a for a in sent["artifacts"] if a["type"] == "file"]
    assert files == [
        {"type": "file", "content": "https://x.example/f.png", "mimeType": "image/png"},
        {"type": "file", "content": "YWJj", "name": "a.bin"},
    ]
    assert [event["chunk"] for event in found[1:-1]] == sent["artifacts"]


@pytest.mark.parametrize(
    ("text", "status", "code", "message"),
    [
        ("FAIL", 500, -32603, r"Skill execution failed: The agent failed\. Error id: \w+"),
        ("REJECT", 500, -32603, "not my job"),
        ("ASK", 500, -32603, "cannot answer: Which one"),
        ("LOGIN", 500, -32603, "cannot answer: Who are you"),
        ("REFUSE", 500, -32603, "send something else"),
    ],
)
async def test_an_agent_that_fails(text, status, code, message):
    async with serving() as http:
        response = await http.post("/a2a", json=asking(text))
        found, _ = await events(http, asking(text, "message/stream"))
    assert response.status_code == status
    assert response.json()["error"]["code"] == code
    assert re.search(message, response.json()["error"]["message"])
    assert [event["task"]["state"] for event in found] == ["working", "failed"]
    assert "secret" not in response.text + str(found)
    assert found[-1]["metadata"]["error"]


async def test_a_question_is_not_left_open():
    async with serving() as http, connect(str(http.base_url)) as client:
        await http.post("/a2a", json=asking("ASK"))
        [task] = (await client.list_tasks(ListTasksRequest())).tasks
    assert task.status.state == TaskState.TASK_STATE_CANCELED


async def test_only_what_is_known_is_told():
    async with serving() as http:
        plain, told, cost = [
            (await result(http, asking(text)))["metadata"] for text in ("x", "TELL", "COST")
        ]
    assert plain == {}
    assert told == {
        "model": "m-1",
        "routing_explanation": "Selected m-1",
        "usage": {"total_tokens": 3},
    }
    assert cost == {"cost_envelope": {"actual": 1, "currency": "USD"}}


async def test_an_agent_without_words():
    async with serving() as http:
        got = await result(http, asking("NOTHING"))
        found, _ = await events(http, asking("NOTHING", "message/stream"))
    assert (got["artifacts"], got["task"]["state"]) == ([], "completed")
    assert [event["task"]["state"] for event in found] == ["working", "completed"]


async def test_tasks_that_take_too_long_fail_and_stop():
    stopped = asyncio.Event()

    async def slow(request):
        yield "begun"
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with serving(slow, OmniRouteDialect(run_seconds=0.2)) as http:
        response = await http.post("/a2a", json=asking("x"))
        assert "did not end within 0.2 s" in response.json()["error"]["message"]
        await asyncio.wait_for(stopped.wait(), 60)


async def test_finished_tasks_are_forgotten():
    async with serving(reviewer, OmniRouteDialect(finished_seconds=0.1)) as http:
        sent = await result(http, asking("x"))
        call = body("tasks/get", taskId=sent["task"]["id"])
        while (response := await http.post("/a2a", json=call)).status_code == 200:
            pass
        assert response.json()["error"]["code"] == -32001
    async with serving(reviewer, OmniRouteDialect(tasks=2)) as http:
        ids = [(await result(http, asking("x")))["task"]["id"] for _ in range(3)]
        calls = [body("tasks/get", taskId=each) for each in ids]
        found = [(await http.post("/a2a", json=call)).status_code for call in calls]
    assert found == [404, 200, 200]


async def test_a_reader_who_leaves_does_not_end_the_task():
    go = asyncio.Event()

    async def slow(request):
        yield "a"
        await go.wait()
        yield "b"

    async with serving(slow) as http:
        call = asking("x", "message/stream")
        async with http.stream("POST", "/a2a", json=call) as response:
            first = await anext(response.aiter_lines())
        task_id = json.loads(first[6:])["params"]["task"]["id"]
        go.set()
        state = ""
        while state != "completed":
            task = (await result(http, body("tasks/get", taskId=task_id)))["task"]
            state = task["state"]
    assert task["artifacts"] == [{"type": "text", "content": "ab"}]


async def test_callers_see_their_own_tasks_only():
    options = ServerOptions(authentication=BearerTokens({"a-key": "ann", "b-key": "bob"}))
    async with serving(options=options) as http:
        ann, bob = ({"Authorization": f"Bearer {name}-key"} for name in "ab")
        sent = (await http.post("/a2a", json=asking("x"), headers=ann)).json()["result"]
        for method in ("tasks/get", "tasks/cancel"):
            call = body(method, taskId=sent["task"]["id"])
            foreign = await http.post("/a2a", json=call, headers=bob)
            assert foreign.json()["error"]["code"] == -32001
        own = body("tasks/get", taskId=sent["task"]["id"])
        assert (await http.post("/a2a", json=own, headers=ann)).status_code == 200
        refused = await http.post("/a2a", json=own)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32600)
        assert (await http.get("/.well-known/agent.json")).status_code == 200


async def test_many_callers_at_once_get_their_own_answers():
    async with serving() as http:
        calls = [asking(f"n{n}", "message/stream" if n % 2 else "message/send") for n in range(40)]
        sends = [result(http, call) for call in calls[::2]]
        streams = [events(http, call) for call in calls[1::2]]
        sent, streamed = await asyncio.gather(asyncio.gather(*sends), asyncio.gather(*streams))
    texts = [each["artifacts"][0]["content"] for each in sent]
    assert texts == [f"written: n{n} " for n in range(0, 40, 2)]
    joined = ["".join(e["chunk"]["content"] for e in found[:-1]) for found, _ in streamed]
    assert joined == [f"written: n{n} " for n in range(1, 40, 2)]


async def test_standard_clients_keep_working_on_the_port():
    async with serving() as http:
        url = str(http.base_url)
        for binding in ("JSONRPC", "HTTP+JSON"):
            async with connect(url, binding=binding) as client:
                assert answer_of(await send(client, user_message("x"))) == "written: x "
        old = body(
            "message/send",
            message={
                "kind": "message",
                "messageId": "m",
                "role": "user",
                "parts": [{"kind": "text", "text": "x"}],
            },
        )
        task = (await http.post("/", json=old)).json()["result"]
        assert (task["kind"], task["status"]["state"]) == ("task", "completed")
        async with RemoteAgent(url) as agent:
            assert (await agent.send("x")).text == "written: x "
            assert (await agent.card()).name == "writer"


async def test_agents_of_other_makes_are_served(subtests):
    class Plain(AgentExecutor):
        async def execute(self, context, event_queue):
            message = Message(role=Role.ROLE_AGENT, message_id="m", parts=[Part(text="a message")])
            await event_queue.enqueue_event(message)

        async def cancel(self, context, event_queue):
            raise NotImplementedError

    async def replies(request):
        yield Reply([Text("a reply")])

    for target, text in ((Plain(), "a message"), (replies, "a reply")):
        async with serving(target) as http:
            assert (await result(http, asking("x")))["artifacts"][0]["content"] == text
            found, _ = await events(http, asking("x", "message/stream"))
            assert [e.get("chunk", {}).get("content") for e in found] == ["", text, None]


async def test_an_agent_with_too_much_to_do_is_no_provider():
    async with (
        serving(options=ServerOptions(limits=Limits(runs=1, queued_runs=0))) as http,
        hanging(http),
    ):
        response = await http.post("/a2a", json=asking("x"))
    assert (response.status_code, response.json()["error"]["code"]) == (503, -32005)


async def test_a_silent_stream_can_be_cancelled():
    stopped = asyncio.Event()

    async def silent(request):
        try:
            await asyncio.Event().wait()
            yield "never"
        finally:
            stopped.set()

    async with serving(silent) as http:
        call = asking("x", "message/stream")
        async with http.stream("POST", "/a2a", json=call) as response:
            lines = response.aiter_lines()
            task = json.loads((await anext(lines)).removeprefix("data: "))["params"]["task"]
            cancelled = await result(http, body("tasks/cancel", taskId=task["id"]))
            rest = [json.loads(line[6:]) async for line in lines if line.startswith("data: ")]
        await asyncio.wait_for(stopped.wait(), 60)
    assert cancelled["task"]["state"] == "cancelled"
    assert [event["params"]["task"]["state"] for event in rest] == ["cancelled"]


@pytest.mark.parametrize(("code", "status"), [(OVER_BUDGET, 402), (NO_PROVIDER, 503)])
async def test_an_agent_names_the_code_it_fails_by(code, status):
    async def dear(request):
        yield TaskMetadata({"error_code": code})
        yield Rejected("0.5 > 0.1")

    async with serving(dear) as http:
        response = await http.post("/a2a", json=asking("x"))
    assert response.status_code == status
    assert response.json()["error"] == {"code": code, "message": "0.5 > 0.1"}


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
async def test_a_body_that_is_not_labelled_as_json_is_refused(kind):
    async with serving() as http:
        content = json.dumps(asking("x"))
        response = await http.post("/a2a", content=content, headers={"Content-Type": kind})
        assert (response.status_code, response.json()["error"]["code"]) == (400, -32600)
        answered = await http.post("/a2a", content=content)
        assert answered.status_code == 200


async def test_a_body_that_is_too_large_is_refused_in_the_dialect():
    async with serving(options=ServerOptions(limits=Limits(body_bytes=200))) as http:
        response = await http.post("/a2a", json=asking("x" * 1000))
    assert response.status_code == 413
    assert response.json()["error"]["code"] == -32600


async def test_a_finished_task_has_no_timer_of_its_own():
    def timers():
        gc.collect()
        handles = (each for each in gc.get_objects() if isinstance(each, asyncio.TimerHandle))
        return sum(not handle.cancelled() for handle in handles)

    async with serving(reviewer) as http:
        await result(http, asking("x"))
        before = timers()
        for _ in range(40):
            await result(http, asking("x"))
        assert timers() - before < 20


def test_an_unknown_dialect_is_refused():
    with pytest.raises(ConfigurationError, match="'esperanto'"):
        build_app(writer, dialects=["esperanto"])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
params = st.dictionaries(
    st.sampled_from(["skill", "messages", "message", "metadata", "taskId", "id", "x"]), json_values
)
calls = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | json_values,
        "id": json_values,
        "method": st.sampled_from(["message/send", "message/stream", "tasks/get", "tasks/cancel"])
        | json_values,
        "params": params | json_values,
    },
)
messages = st.lists(st.fixed_dictionaries({"role": json_values, "content": json_values}))
asks = st.fixed_dictionaries(
    {
        "jsonrpc": st.just("2.0"),
        "id": json_values,
        "method": st.sampled_from(["message/send", "message/stream"]),
        "params": st.fixed_dictionaries({"messages": messages}, optional={"metadata": json_values}),
    }
)


def test_wrong_bodies_get_errors():
    async def post_all(bodies):
        app = build_app(reviewer, dialects=["omniroute"])
        transport = httpx.ASGITransport(app, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            for content in bodies:
                response = await http.post("/a2a", content=content)
                if response.headers["content-type"].startswith("text/event-stream"):
                    assert response.status_code == 200
                    continue
                answer = response.json()
                assert answer["jsonrpc"] == "2.0"
                assert ("result" in answer) != ("error" in answer)

    @settings(deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists((json_values | calls | asks).map(json.dumps) | st.binary(), max_size=5))
    def check(bodies):
        asyncio.run(post_all([*bodies, "[" * 5000, '{"a":' * 300 + "1" + "}" * 300]))

    check()
