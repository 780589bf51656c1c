"""AG-UI endpoints as agents: of this package, and scripted ones."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from a2a_adapters_ag_ui import AgUiAgent
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from a2a_adapters import (
    BearerTokens,
    ConfigurationError,
    Data,
    Progress,
    RemoteAgent,
    RemoteOptions,
    RemoteTaskError,
    ServerOptions,
    Text,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.plugin import installed_plugins
from a2a_adapters.testing import as_user, running
from tests.plugins.ag_ui.served import SCHEMA, USAGE, worker


def served(target, **options):
    return build_app(target, name="worker", dialects=["ag-ui"], **options)


@asynccontextmanager
async def again(**options):
    """Yield a client of an agent behind AG-UI, which is served again."""
    async with (
        running(served(worker)) as far,
        running(served(AgUiAgent(f"{far}/ag-ui"))) as url,
        RemoteAgent(url, options=RemoteOptions(progress=True), **options) as agent,
    ):
        yield agent


async def test_text_data_files_and_usage():
    async with again() as agent:
        text, parts = await agent.send("hello"), await agent.send("PARTS")
        usage = (await agent.send("COUNT")).usage
    assert text.text == "worked on hello"
    assert parts.data == [{"a": 1}]
    assert usage.total_tokens == USAGE["total_tokens"]


async def test_news_of_the_work():
    async with again() as agent:
        events = [event async for event in agent.stream("TOOL")]
    calls = [event for event in events if isinstance(event, ToolCall)]
    assert [(call.name, call.arguments) for call in calls] == [("add", {"a": 2}), ("wait", {})]
    assert [event.result for event in events if isinstance(event, ToolResult)] == ["5", ""]
    thoughts = [e.text for e in events if isinstance(e, Progress) and e.data == {"type": "thought"}]
    assert "".join(thoughts) == "looking\nhm"
    assert events[-1].text == "before\nafter"


async def test_questions():
    async with again() as agent:
        asked = await agent.send("ASK")
        answer = await agent.send("Rome", context_id=asked.context_id, task_id=asked.task_id)
        form = await agent.send("CHOOSE")
        chosen = await agent.send(
            [Data({"colour": "red"})], context_id=form.context_id, task_id=form.task_id
        )
    assert (asked.question, answer.text) == ("Which city?", "took Rome")
    assert {"response_schema": SCHEMA} in [part.value for part in form.status_parts[1:]]
    assert chosen.text == "took [{'colour': 'red'}]"


async def test_a_cancelled_question_leaves_the_thread_usable():
    async with again() as agent:
        asked = await agent.send("ASK")
        await agent.cancel(asked.task_id)
        answer = await agent.send("hello", context_id=asked.context_id)
    assert answer.text == "worked on hello"


async def test_the_state_is_kept_for_the_next_run():
    async with again() as agent:
        first = await agent.send("STATE")
        second = await agent.send("STATE", context_id=first.context_id)
    assert [each.value for each in _state(first)] == [{"n": 2, "a/b": None}]
    assert [each.value for each in _state(second)] == []


def _state(reply):
    return [part for a in reply.artifacts if a.name == "state" for part in a.parts]


@pytest.mark.parametrize(("text", "reason"), [("REJECT", "not my job"), ("BOOM", "failed")])
async def test_failures(text, reason):
    async with again() as agent:
        with pytest.raises(RemoteTaskError, match=reason) as failed:
            await agent.send(text)
    assert failed.value.state == ("rejected" if text == "REJECT" else "failed")


async def test_each_conversation_of_each_caller_is_a_thread_of_its_own():
    async with again() as agent:

        async def thread(user, context_id):
            options = {"context_id": context_id, "headers": as_user(user)}
            found = [(await agent.send("IDS", **options)).text for _ in range(2)]
            assert len({json.loads(each)[0] for each in found}) == 1
            return json.loads(found[0])[0]

        pairs = [(user, chat) for user in ("ann", "bob") for chat in ("one", "two")]
        threads = await asyncio.gather(*(thread(*pair) for pair in pairs))
    assert len(set(threads)) == 4


async def test_a_token_from_the_environment(monkeypatch):
    monkeypatch.setenv("FAR_TOKEN", "s3cret")
    options = ServerOptions(authentication=BearerTokens({"s3cret": "ann"}))
    async with running(served(worker, options=options)) as far:
        target = installed_plugins().target(f"ag-ui:--token-env FAR_TOKEN {far}/ag-ui")
        async with running(build_app(target)) as url, RemoteAgent(url) as agent:
            assert (await agent.send("hello")).text == "worked on hello"


@pytest.mark.parametrize("word", ["ag-ui:", "ag-ui:nowhere", "ag-ui:--port 1 https://x.example"])
def test_words_that_are_no_endpoint(word):
    with pytest.raises(ConfigurationError, match=r"ag-ui:"):
        installed_plugins().target(word)


@asynccontextmanager
async def scripted(*runs):
    """Yield a client of an endpoint that answers each run with the next script, and its inputs."""
    seen, left = [], list(runs)

    async def receive(request):
        seen.append(await request.json())
        script = left.pop(0)
        if isinstance(script, str):
            return PlainTextResponse(script, 200)
        lines = [f"data: {json.dumps(event)}\n\n" for event in script]
        return StreamingResponse(iter(lines), media_type="text/event-stream")

    app = Starlette(routes=[Route("/", receive, methods=["POST"])])
    async with (
        running(app) as far,
        running(build_app(AgUiAgent(far), name="far")) as url,
        RemoteAgent(url) as agent,
    ):
        yield agent, seen


START = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
END = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def chunk(message_id, delta):
    return {"type": "TEXT_MESSAGE_CHUNK", "messageId": message_id, "delta": delta}


async def test_each_run_gets_the_whole_conversation():
    call = {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "f", "delta": "{}"}
    result = {"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "c", "content": "5"}
    first = [START, chunk("a", "one"), chunk("a", " two"), call, result, END]
    async with scripted(first, [START, chunk("b", "three"), END]) as (agent, seen):
        one = await agent.send("hello")
        two = await agent.send("more", context_id=one.context_id)
    assert (one.text, two.text) == ("one two", "three")
    user, said, called, answered, last = seen[1]["messages"]
    assert [each["role"] for each in (user, said, called, answered, last)] == [
        "user", "assistant", "assistant", "tool", "user",
    ]  # fmt: skip
    assert (said["id"], said["content"], last["content"]) == ("a", "one two", "more")
    assert called["toolCalls"][0]["function"] == {"name": "f", "arguments": "{}"}
    assert user == seen[0]["messages"][0]
    assert seen[0]["threadId"] == seen[1]["threadId"]
    assert seen[0]["runId"] != seen[1]["runId"]


async def test_an_answer_that_is_only_in_the_snapshot():
    messages = [
        {"id": "u", "role": "user", "content": "hello"},
        {"id": "a", "role": "assistant", "content": "hi"},
    ]
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": messages}
    async with scripted([START, snapshot, END], [START, END]) as (agent, seen):
        one = await agent.send("hello")
        await agent.send("more", context_id=one.context_id)
    assert one.text == "hi"
    assert seen[1]["messages"][:2] == messages


async def test_several_interrupts_are_asked_one_after_the_other():
    approval = {"type": "object", "properties": {"approved": {"type": "boolean"}}}
    interrupts = [
        {"id": "1", "reason": "confirmation", "message": "May I?", "responseSchema": approval},
        {"id": "2", "reason": "input_required", "message": "Where?"},
        {"id": "3", "reason": "x:y"},
    ]
    ended = {**END, "outcome": {"type": "interrupt", "interrupts": interrupts}}
    async with scripted([START, ended], [START, chunk("a", "done"), END]) as (agent, seen):
        reply = await agent.send("x")
        asked = [reply.question]
        for answer in ("yes", "Rome", "z"):
            ids = {"context_id": reply.context_id, "task_id": reply.task_id}
            reply = await agent.send([Text(answer)], **ids)
            asked.append(reply.question if reply.is_question else reply.text)
    assert asked == ["May I?", "Where?", "x:y", "done"]
    assert seen[1]["resume"] == [
        {"interruptId": "1", "status": "resolved", "payload": {"approved": True}},
        {"interruptId": "2", "status": "resolved", "payload": "Rome"},
        {"interruptId": "3", "status": "resolved", "payload": "z"},
    ]


@pytest.mark.parametrize(
    "script",
    [
        [START, chunk("a", "half")],
        [START, {"type": "TOOL_CALL_ARGS", "toolCallId": "unknown", "delta": "x"}, END],
        [START, {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/none"}]}, END],
        [START, {"type": "MESSAGES_SNAPSHOT", "messages": [{"role": "user"}]}, END],
        [START, {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [1]}}],
        [START, {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "x"}, "none"],
        "no events",
    ],
)
async def test_broken_streams_fail_without_details(script):
    async with scripted(script) as (agent, _):
        with pytest.raises(RemoteTaskError) as failed:
            await agent.send("x")
    assert failed.value.state == "failed"
    assert "{" not in str(failed.value)


async def test_unknown_events_are_ignored():
    later = {"type": "HOLOGRAM_STARTED", "value": None}
    async with scripted([START, later, chunk("a", "x"), END]) as (agent, _):
        assert (await agent.send("x")).text == "x"
