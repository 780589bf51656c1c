"""The stateless protocol of 2026-07-28."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from a2a_adapters import BearerTokens, ServerOptions, build_app
from a2a_adapters.testing import running
from tests.plugins.mcp import agents
from tests.plugins.mcp.stateless_client import (
    FORMS,
    KEY,
    PAGES,
    TASKS,
    VERSION,
    accepted,
    said,
    stateless,
)
from tests.plugins.mcp.support import begin

TOKENS = ServerOptions(authentication=BearerTokens({"of-ann": "ann", "of-bob": "bob"}))


@asynccontextmanager
async def offered(can=None, options=None):
    app = build_app(agents.ALL, dialects=["mcp"], options=options)
    async with running(app) as url, stateless(url, can) as client:
        yield client


@pytest.fixture
async def client():
    async with offered() as client:
        yield client


def bearer(name):
    return {"Authorization": f"Bearer of-{name}"}


async def test_a_server_announces_its_capabilities(client):
    found = await client.ask("server/discover")
    tools = (await client.ask("tools/list"))["tools"]
    assert found["supportedVersions"] == [VERSION]
    assert set(found["capabilities"]) == {"tools", "resources", "extensions"}
    assert found["_meta"][f"{KEY}serverInfo"]["name"] == "a2a-adapters"
    assert {tool["name"] for tool in tools} == set(agents.ALL)


async def test_a_result_explains_how_to_continue_the_conversation(client):
    first = await client.call("remember", "one")
    context_id = first["_meta"]["a2a-adapters/contextId"]
    assert (first["resultType"], said(first)) == ("complete", "one")
    assert repr(context_id) in first["content"][1]["text"]
    assert first["content"][1]["annotations"] == {"audience": ["assistant"]}
    second = await client.call("remember", {"message": "two", "context_id": context_id})
    assert said(second) == "one two"
    assert said(await client.call("remember", "three")) == "three"


async def test_a_file_can_be_read_again(client):
    sent = {"name": "a.txt", "media_type": "text/plain", "base64": "YWJj"}
    drawn = await client.call("draw", {"message": "go", "files": [sent]})
    uri = drawn["content"][1]["resource"]["uri"]
    [found] = (await client.ask("resources/read", uri=uri))["contents"]
    assert found == {"uri": uri, "text": "abc", "mimeType": "text/plain"}
    missing = await client.ask("resources/read", uri=f"{uri}/no")
    assert (missing["code"], missing["data"]) == (-32602, {"uri": f"{uri}/no"})
    assert (await client.ask("resources/list"))["resources"] == []


async def test_progress_comes_before_the_result(client):
    assert said(await client.call("work")) == "done"
    assert client.progress == ["half of it", "calls search", "search is done"]
    assert said(await client.call("shout")) == "X"
    weather = await client.call("weather", "Oslo")
    assert weather["structuredContent"] == {"city": "Oslo", "degrees": 21}


async def test_a_question_is_answered_by_repeating_the_call():
    async with offered(FORMS) as client:
        asked = await client.call("fill_in")
        assert asked["resultType"] == "input_required"
        [request] = asked["inputRequests"].values()
        assert request["params"]["requestedSchema"] == agents.FORM
        state = asked["requestState"]
        again = await client.call("fill_in", requestState=state, inputResponses={"other": {}})
        assert again["inputRequests"] == asked["inputRequests"]
        answer = accepted(asked, city="Rome")
        done = await client.call("fill_in", requestState=state, inputResponses=answer)
        assert done["structuredContent"] == {"city": "Rome"}
        late = await client.call("fill_in", requestState=state, inputResponses=answer)
        assert late["code"] == -32602


async def test_a_question_without_schema_is_answered_with_text():
    async with offered(FORMS) as client:
        asked = await client.call("book", "two")
        state, answer = asked["requestState"], accepted(asked, answer="Rome")
        done = await client.call("book", requestState=state, inputResponses=answer)
    assert said(done) == "booked Rome for two"


async def test_a_declined_question_ends_the_task():
    async with offered(FORMS | TASKS) as client:
        asked = await client.call("book")
        [key] = asked["inputRequests"]
        refused = {key: {"action": "decline"}}
        ended = await client.call(
            "book", requestState=asked["requestState"], inputResponses=refused
        )
        assert ended["isError"]
        task_id = asked["requestState"].rpartition("/")[0]
        assert (await client.ended(task_id))["status"] == "cancelled"


async def test_an_authorisation_is_given_on_its_page():
    async with offered(PAGES) as client:
        asked = await client.call("authorise")
        [request] = asked["inputRequests"].values()
        assert request["params"]["url"] == "https://login.example/grant"
        state, answer = asked["requestState"], accepted(asked)
        done = await client.call("authorise", requestState=state, inputResponses=answer)
    assert "authorisation is done" in said(done)


@pytest.mark.parametrize(("tool", "can"), [("book", {}), ("authorise", FORMS)])
async def test_a_client_without_elicitation_gets_the_question_as_result(tool, can):
    async with offered(can) as client:
        asked = await client.call(tool)
        task_id = asked["structuredContent"]["task_id"]
        done = await client.call(tool, {"message": "Rome", "task_id": task_id})
    assert "Rome" in said(done)


async def test_questions_are_visible_to_their_caller_only():
    async with offered(FORMS, TOKENS) as client:
        asked = await client.call("book", headers=bearer("ann"))
        answer = {"requestState": asked["requestState"], "inputResponses": accepted(asked)}
        stolen = await client.call("book", **answer, headers=bearer("bob"))
        elsewhere = await client.call("fill_in", **answer, headers=bearer("ann"))
        assert (stolen["code"], elsewhere["code"]) == (-32602, -32602)
        assert (await client.post("tools/list")).status_code == 401


@pytest.mark.parametrize(
    "state", ["", "x", "book/x/1/k", "a/b/c/d", "book//1/k", "book/x/-1/k", 7, None, ["book/x/1/k"]]
)
async def test_a_forged_state_is_refused(state):
    async with offered(FORMS) as client:
        assert (await client.call("book", requestState=state))["code"] == -32602


@pytest.mark.parametrize(
    ("tool", "arguments", "progress"),
    [
        ("shout", {}, "pass at least one of"),
        ("shout", {"message": 1}, "message"),
        ("refuse", {"message": "x"}, "not today"),
        ("fail", {"message": "x"}, "Error id"),
        ("shout", {"message": "x", "task_id": "unknown"}, "not found"),
    ],
)
async def test_failures_are_tool_errors(client, tool, arguments, progress):
    failed = await client.call(tool, arguments)
    assert failed["isError"]
    assert progress in said(failed)
    assert "hunter2" not in str(failed)


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        (-32020, {"meta": {f"{KEY}protocolVersion": None}}),
        (-32020, {"headers": {"mcp-method": "tools/list"}}),
        (-32020, {"headers": {"mcp-name": "book"}}),
        (-32020, {"headers": {"mcp-name": "=?base64?%?="}}),
        (-32020, {"headers": {"mcp-protocol-version": "2027-01-01"}}),
        (-32602, {"meta": {f"{KEY}clientCapabilities": []}}),
        (-32602, {"name": "nothing"}),
        (-32602, {"arguments": ["x"]}),
    ],
)
async def test_a_contradictory_request_is_refused(client, code, changed):
    sent = {"name": "shout", "arguments": {"message": "x"}, **changed}
    answer = await client.post("tools/call", **sent)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


async def test_a_header_may_be_wrapped(client):
    wrapped = {"mcp-name": "=?base64?c2hvdXQ=?="}
    assert said(await client.call("shout", "hello", headers=wrapped)) == "HELLO"


async def test_unknown_methods_and_versions(client):
    unknown = await client.post("ping")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, -32601)
    meta, headers = {f"{KEY}protocolVersion": "1"}, {"mcp-protocol-version": "1"}
    older = await client.post("tools/list", meta=meta, headers=headers)
    assert older.json()["error"]["code"] == -32022
    assert older.json()["error"]["data"] == {"supported": [VERSION], "requested": "1"}
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}}
    progress = await client.http.post("/mcp", json=note, headers={"mcp-protocol-version": VERSION})
    assert progress.status_code == 202


async def test_sixteen_clients_are_never_mixed():
    async def converse(url, number):
        async with stateless(url, FORMS) as client:
            said_so_far, context = [], {}
            for turn in range(3):
                said_so_far.append(f"{number}.{turn}")
                result = await client.call("remember", {"message": said_so_far[-1], **context})
                assert said(result) == " ".join(said_so_far)
                context = {"context_id": result["_meta"]["a2a-adapters/contextId"]}
                asked = await client.call("book", f"{number}")
                state, city = asked["requestState"], accepted(asked, answer=f"city {number}")
                booked = await client.call("book", requestState=state, inputResponses=city)
                assert said(booked) == f"booked city {number} for {number}"
                await client.call("work")
            assert len(client.progress) == 9

    async with running(build_app(agents.ALL, dialects=["mcp"])) as url:
        await asyncio.gather(*(converse(url, number) for number in range(16)))


async def test_a_disconnect_cancels_the_call(client, folder):
    waiting, ended = await begin(folder, client.call("wait"))
    waiting.cancel()
    assert await ended == "yes"
