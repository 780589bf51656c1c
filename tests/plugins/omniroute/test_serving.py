"""Tasks in OmniRoute's dialect: answers, errors, expiry and isolation."""

from __future__ import annotations

import asyncio
import gc
import json
import re

import pytest
from a2a.server.agent_execution import AgentExecutor
from a2a.types import ListTasksRequest, Message, Part, Role, TaskState
from a2a_adapters_omniroute import NO_PROVIDER, OVER_BUDGET, OmniRouteDialect

from a2a_adapters import (
    BearerTokens,
    ConfigurationError,
    Limits,
    Rejected,
    Reply,
    ServerOptions,
    TaskMetadata,
    Text,
    build_app,
)
from a2a_adapters.testing import connect
from tests.plugins.omniroute.served import (
    asking,
    body,
    events,
    hanging,
    result,
    reviewer,
    serving,
    writer,
)


async def test_results_of_all_kinds_are_sent(http):
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
        ("ASK", 500, -32603, "not supported by OmniRoute: Which one"),
        ("LOGIN", 500, -32603, "not supported by OmniRoute: Who are you"),
        ("REFUSE", 500, -32603, "send something else"),
    ],
)
async def test_an_agent_that_fails(http, text, status, code, message):
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


async def test_only_known_metadata_is_sent(http):
    plain, metadata, cost = [
        (await result(http, asking(text)))["metadata"] for text in ("x", "TELL", "COST")
    ]
    assert plain == {}
    assert metadata == {
        "model": "m-1",
        "routing_explanation": "Selected m-1",
        "usage": {"total_tokens": 3},
    }
    assert cost == {"cost_envelope": {"actual": 1, "currency": "USD"}}


async def test_an_agent_without_text(http):
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

    async with serving(slow, OmniRouteDialect(run_seconds=2)) as http:
        response = await http.post("/a2a", json=asking("x"))
        assert "did not end within 2 s" in response.json()["error"]["message"]
        await asyncio.wait_for(stopped.wait(), 60)


async def test_finished_tasks_expire():
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


async def test_a_disconnect_does_not_end_the_task():
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


async def test_concurrent_callers_get_their_own_answers(http):
    calls = [asking(f"n{n}", "message/stream" if n % 2 else "message/send") for n in range(40)]
    sends = [result(http, call) for call in calls[::2]]
    streams = [events(http, call) for call in calls[1::2]]
    sent, streamed = await asyncio.gather(asyncio.gather(*sends), asyncio.gather(*streams))
    texts = [each["artifacts"][0]["content"] for each in sent]
    assert texts == [f"written: n{n} " for n in range(0, 40, 2)]
    joined = ["".join(e["chunk"]["content"] for e in found[:-1]) for found, _ in streamed]
    assert joined == [f"written: n{n} " for n in range(1, 40, 2)]


async def test_other_kinds_of_agents_are_served(subtests):
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


async def test_a_busy_agent_is_not_a_provider_error():
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
async def test_an_agent_selects_its_error_code(code, status):
    async def dear(request):
        yield TaskMetadata({"error_code": code})
        yield Rejected("0.5 > 0.1")

    async with serving(dear) as http:
        response = await http.post("/a2a", json=asking("x"))
    assert response.status_code == status
    error = response.json()["error"]
    assert (error["code"], error["message"]) == (code, "0.5 > 0.1")
    assert error["data"]["task"]["state"] == "failed"
    assert error["data"]["metadata"]["error_code"] == code


async def test_finished_tasks_share_a_timer():
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
