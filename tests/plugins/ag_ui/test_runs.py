"""Runs: what front ends hear of an agent's work."""

from __future__ import annotations

import base64
import json

import jsonpatch
import pytest

from a2a_adapters import BearerTokens, Limits, ServerOptions
from a2a_adapters.plugin import A2UI_EXTENSION, Extension
from tests.plugins.ag_ui.served import USAGE, asked, run, serving, user, worker


async def test_an_answer(http):
    heard = await run(http, "hello")
    assert heard.types == [
        "RUN_STARTED",
        "CUSTOM",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    assert heard.text == "worked on hello"
    assert heard.events[0]["protocolVersion"] == "1.0"
    assert heard.last["outcome"] == {"type": "success"}


async def test_each_agent_has_its_address():
    async def poet(text: str) -> str:
        """Write verses."""
        return text

    async with serving({"worker": worker, "poet": poet}, name=None) as http:
        heard = await run(http, "verse", path="/ag-ui/poet")
        unknown = await http.post("/ag-ui/painter", json=asked("x"))
        unnamed = await http.post("/ag-ui", json=asked("x"))
    assert heard.text == "verse"
    assert (unknown.status_code, unnamed.status_code) == (404, 404)
    assert "/ag-ui/worker, /ag-ui/poet" in unknown.json()["error"]["message"]


async def test_reasoning_and_tools_are_apart_from_the_text(http):
    heard = await run(http, "TOOL")
    reasoning = "".join(e["delta"] for e in heard.of("REASONING_MESSAGE_CONTENT"))
    assert reasoning == "looking\nhm"
    assert heard.custom("a2a:progress") == [{"percent": 50}]
    assert [e["toolCallName"] for e in heard.of("TOOL_CALL_START")] == ["add", "wait"]
    assert [e["delta"] for e in heard.of("TOOL_CALL_ARGS")] == ['{"a":2}', "{}"]
    ids = [e["toolCallId"] for e in heard.of("TOOL_CALL_START")]
    results = {e["toolCallId"]: e["content"] for e in heard.of("TOOL_CALL_RESULT")}
    assert results == {ids[0]: "5", ids[1]: ""}
    said = [e["messageId"] for e in heard.of("TEXT_MESSAGE_START")]
    assert len(set(said)) == 2
    assert heard.text == "beforeafter"


async def test_ids_of_calls_are_not_shared_by_runs(http):
    first, second = await run(http, "TOOL"), await run(http, "TOOL")
    ids = [e["toolCallId"] for heard in (first, second) for e in heard.of("TOOL_CALL_START")]
    assert len(set(ids)) == 4


async def test_data_is_a_result_and_text(http):
    heard = await run(http, "PARTS")
    assert heard.text == 'text\n\n{"a":1}\n\n[f.pdf](https://x.example/f.pdf)'
    assert heard.last["result"] == {"a": 1}


async def test_usage_is_in_the_last_event(http):
    heard = await run(http, "COUNT")
    [usage] = heard.last["usage"]
    assert usage == {"inputTokens": 3, "outputTokens": 4, "totalTokens": USAGE["total_tokens"]}


async def test_a_reply_without_a_task(http):
    assert (await run(http, "REPLY")).text == "a reply"


async def test_state_is_shared(http):
    heard = await run(http, "STATE", state={"n": 0})
    [snapshot], [delta] = heard.of("STATE_SNAPSHOT"), heard.of("STATE_DELTA")
    assert snapshot["snapshot"] == {"seen": {"n": 0}, "n": 1}
    changed = jsonpatch.apply_patch(snapshot["snapshot"], delta["delta"])
    assert changed == {"n": 2, "a/b": None}
    assert heard.text == "counted"
    assert "result" not in heard.last


async def test_interfaces_are_activities_for_front_ends_that_show_them():
    schema = {"description": "A2UI catalog capabilities: available catalogs", "value": "c"}
    options = ServerOptions(extensions=[Extension(uri=A2UI_EXTENSION)])
    async with serving(options=options) as http:
        shown = await run(http, "INTERFACE", context=[schema])
        other = await run(http, "INTERFACE", thread="u")
    [activity] = shown.of("ACTIVITY_SNAPSHOT")
    assert activity["activityType"] == "a2ui-surface"
    assert activity["content"]["a2ui_operations"][0]["createSurface"]["surfaceId"] == "s"
    assert shown.text == ""
    assert other.text == "a form"


async def test_actions_in_interfaces_are_data_of_the_next_message(http):
    action = {"name": "later", "surfaceId": "s", "sourceComponentId": "b", "context": {}}
    await run(http, "hello")
    heard = await run(http, forwardedProps={"a2uiAction": {"userAction": action}})
    [[sent]] = json.loads(heard.text.removeprefix("worked on "))
    assert sent == {"version": "v0.9.1", "action": action}


@pytest.mark.parametrize(
    ("text", "reason", "code"),
    [
        ("REJECT", "not my job", "rejected"),
        ("REFUSE", "send something else", "rejected"),
        ("BOOM", "failed", "failed"),
        ("HALF", "failed", "failed"),
    ],
)
async def test_a_failure_is_an_event_with_its_reason(http, text, reason, code):
    heard = await run(http, text)
    assert (heard.last["type"], heard.last["code"]) == ("RUN_ERROR", code)
    assert reason in heard.last["message"]
    assert "secret" not in json.dumps(heard.events)


async def test_threads_and_runs_are_contexts_and_tasks(http):
    heard = await run(http, "IDS", thread="my thread", run="my run")
    [ids] = heard.custom("a2a:task")
    card = {"A2A-Version": "1.0"}
    task = (await http.get(f"/tasks/{ids['taskId']}", headers=card)).json()
    assert json.loads(heard.text) == ["my thread", "my run", "my thread", ids["taskId"]]
    assert task["contextId"] == ids["contextId"] == "my thread"
    assert task["history"][0]["metadata"]["ag-ui"]["runId"] == "my run"


async def test_what_the_front_end_tells_reaches_the_agent(http):
    tool = {"name": "paint", "description": "Paints.", "parameters": {}}
    entry = {"description": "page", "value": "cart"}
    first = await run(http, "x", context=[entry], tools=[tool], forwardedProps={"k": 1})
    again = await run(http, "CONTEXT", context=[entry], tools=[tool], forwardedProps={"k": 1})
    changed = await run(http, "y", context=[{**entry, "value": "till"}])
    assert first.text == "worked on System: page: cart\n\nUser: x"
    assert json.loads(again.text) == [[entry], {"k": 1}, ["paint"]]
    assert changed.text == "worked on System: page: till\n\nUser: y"


async def test_only_what_is_new_is_sent_to_an_agent_that_knows_the_thread(http):
    answer = {"id": "a", "role": "assistant", "content": "hi"}
    system = {"id": "s", "role": "system", "content": "Be kind."}
    unknown = await run(http, system, "one", answer, "two")
    known = await run(http, system, "one", answer, "two", answer, "three")
    edited = await run(http, system, "other")
    assert unknown.text == ("worked on System: Be kind.\n\nUser: one\n\nAssistant: hi\n\nUser: two")
    assert (known.text, edited.text) == ("worked on three", "worked on other")


async def test_files_of_the_user(http):
    data = base64.b64encode(b"png").decode()
    parts = [
        {"type": "text", "text": "SEEN"},
        {
            "type": "image",
            "source": {"type": "data", "value": data, "mimeType": "image/png"},
            "metadata": {"filename": "a.png"},
        },
        {"type": "document", "source": {"type": "url", "value": "https://x.example/i.pdf"}},
    ]
    heard = await run(http, user(parts))
    assert heard.text == str(
        [(b"png", None, "image/png", "a.png"), (None, "https://x.example/i.pdf", "", "")]
    )


async def test_a_file_at_a_provider_is_left_out(http):
    parts = [
        {"type": "text", "text": "x"},
        {"type": "image", "source": {"type": "file", "value": "f", "provider": "openai"}},
    ]
    heard = await run(http, user(parts))
    assert heard.text == "worked on x\n\n(A file that this agent cannot read.)"


@pytest.mark.parametrize("messages", [[], [user("")], [{"id": "a", "role": "assistant"}]])
async def test_a_run_without_news_is_refused(http, messages):
    heard = await run(http, *messages)
    assert (heard.last["type"], heard.last["code"]) == ("RUN_ERROR", "no_message")


async def test_callers_are_authenticated():
    options = ServerOptions(
        authentication=BearerTokens({"s3cret": "alice"}), limits=Limits(requests_per_minute=2)
    )
    async with serving(options=options) as http:
        refused = await http.post("/ag-ui", json=asked("x"))
        alice = {"Authorization": "Bearer s3cret"}
        heard = await run(http, "x", headers=alice)
        await run(http, "x", headers=alice)
        busy = await http.post("/ag-ui", json=asked("x"), headers=alice)
    assert (refused.status_code, busy.status_code) == (401, 429)
    assert int(busy.headers["retry-after"]) > 0
    assert heard.text == "worked on x"
