"""OmniRoute's documented clients with served agents."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from a2a.types import CancelTaskRequest, ListTasksRequest
from a2a_adapters_omniroute import OmniRouteClient, OmniRouteDialect, OmniRouteTaskNotFoundError

from a2a_adapters import RemoteAgent
from a2a_adapters.testing import answer_of, connect, send, user_message
from tests.plugins.omniroute.served import (
    STATES,
    asking,
    body,
    events,
    hanging,
    result,
    reviewer,
    serving,
    writer,
)


async def test_a_python_orchestrator(http):
    """Reads the card, sends, and prints cost and route, like the documented program."""
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


async def test_a_typescript_client_reads_the_stream_by_lines(http):
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


async def test_a_go_client_sends_numbers_for_ids_and_reads_into_structs(http):
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


async def test_waiting_callers_learn_of_a_cancellation():
    async with serving() as http, connect(str(http.base_url)) as client:
        waiting = asyncio.create_task(http.post("/a2a", json=asking("HANG")))
        tasks = []
        while not tasks:
            tasks = (await client.list_tasks(ListTasksRequest())).tasks
        await client.cancel_task(CancelTaskRequest(id=tasks[0].id))
        answered = (await waiting).json()["result"]
    assert (answered["task"]["state"], answered["artifacts"]) == ("cancelled", [])


async def test_a_dashboard_shows_chunks_and_the_state(http):
    found, comments = await events(http, asking("a b", "message/stream"))
    assert [e["chunk"]["content"] for e in found[:-1]] == ["", "written: ", "a ", "b "]
    assert {e["task"]["state"] for e in found[:-1]} == {"working"}
    assert found[-1].keys() == {"task", "metadata"}
    assert found[-1]["task"] == {"id": found[0]["task"]["id"], "state": "completed"}
    assert comments == []


async def test_a_dashboard_shows_heartbeats():
    async with serving(dialect=OmniRouteDialect(heartbeat_seconds=0.05)) as http:
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


async def test_our_client_is_served_as_well():
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


async def test_standard_clients_keep_working_on_the_port(http):
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
