"""Questions as interrupts, and tools of the front end."""

from __future__ import annotations

import pytest

from a2a_adapters import InputRequired
from a2a_adapters.plugin import as_decision
from tests.plugins.ag_ui.served import SCHEMA, resuming, run, serving, user

PAINT = {"name": "paint", "description": "Paints.", "parameters": {"type": "object"}}


async def test_a_question_is_an_interrupt_that_the_next_run_answers(http):
    first = await run(http, "ASK")
    second = await run(http, resume=resuming(first.interrupt, "Rome"))
    interrupt = first.interrupt
    assert (interrupt["reason"], interrupt["message"]) == ("input_required", "Which city?")
    assert first.text == "Well. \nWhich city?"
    assert second.text == "took Rome"
    assert first.custom("a2a:task") == second.custom("a2a:task")


async def test_the_messages_precede_an_interrupt(http):
    heard = await run(http, "ASK")
    [snapshot] = heard.of("MESSAGES_SNAPSHOT")
    assert [(m["role"], m["content"]) for m in snapshot["messages"]] == [
        ("user", "ASK"),
        ("assistant", "Well. \nWhich city?"),
    ]
    assert snapshot["messages"][1]["id"] == heard.of("TEXT_MESSAGE_START")[0]["messageId"]


async def test_the_next_run_may_have_the_same_id(http):
    """CopilotKit resumes a run under its own id."""
    question = user("ASK")
    first = await run(http, question, run="1")
    resume = resuming(first.interrupt, "Rome")
    second = await run(http, question, run="1", resume=resume)
    again = await run(http, question, run="1", resume=resume)
    assert second.text == again.text == "took Rome"
    messages = [e["messageId"] for h in (first, second) for e in h.of("TEXT_MESSAGE_START")]
    assert len(set(messages)) == 2


async def test_the_messages_before_an_interrupt_leave_the_reasoning_to_the_client(http):
    thought = {"id": "z", "role": "reasoning", "content": "hm"}
    heard = await run(http, thought, "ASK")
    [snapshot] = heard.of("MESSAGES_SNAPSHOT")
    assert [message["role"] for message in snapshot["messages"]] == ["user", "assistant"]
    assert "result" not in heard.last


async def test_a_form_has_a_schema(http):
    first = await run(http, "CHOOSE")
    second = await run(http, resume=resuming(first.interrupt, {"colour": "red"}))
    assert first.interrupt["responseSchema"] == SCHEMA
    assert second.text == "took [{'colour': 'red'}]"


async def test_a_sign_in_has_a_reason_of_its_own(http):
    heard = await run(http, "LOGIN")
    assert heard.interrupt["reason"] == "a2a:auth_required"


async def deciding(request):
    """Ask for an approval."""
    answer = yield InputRequired("May I?")
    yield str(as_decision(answer.text))


@pytest.mark.parametrize(
    ("payload", "expected"),
    [(True, "(True, '')"), ({"approved": False}, "(False, '')"), ("yes", "(True, '')")],
)
async def test_approvals_are_words(payload, expected):
    async with serving(deciding) as http:
        first = await run(http, "x")
        second = await run(http, resume=resuming(first.interrupt, payload))
    assert second.text == expected


async def test_an_open_question_is_not_answered_by_another_message(http):
    first = await run(http, "ASK")
    other = await run(http, "something else")
    second = await run(http, resume=resuming(first.interrupt, "Rome"))
    assert (other.last["type"], other.last["code"]) == ("RUN_ERROR", "interrupt_open")
    assert second.text == "took Rome"


@pytest.mark.parametrize("thread", ["t", "other"])
async def test_a_question_is_answered_once_and_in_its_thread(http, thread):
    first = await run(http, "ASK")
    if thread == "t":
        await run(http, resume=resuming(first.interrupt, "Rome"))
    late = await run(http, resume=resuming(first.interrupt, "Oslo"), thread=thread)
    assert (late.last["type"], late.last["code"]) == ("RUN_ERROR", "interrupt_unknown")


async def test_a_question_can_be_abandoned_more_than_once(http):
    first = await run(http, "ASK")
    cancelled = resuming(first.interrupt, status="cancelled")
    ended = [await run(http, resume=cancelled) for _ in range(2)]
    [ids] = first.custom("a2a:task")
    task = await http.get(f"/tasks/{ids['taskId']}", headers={"A2A-Version": "1.0"})
    onwards = await run(http, "hello", resume=cancelled)
    assert [heard.last["outcome"]["type"] for heard in ended] == ["success", "success"]
    assert task.json()["status"]["state"] == "TASK_STATE_CANCELED"
    assert onwards.text == "worked on hello"


async def test_an_agent_calls_a_tool_of_the_front_end(http):
    first = await run(http, "FRONT", tools=[PAINT])
    [call] = first.of("TOOL_CALL_START")
    result = {"id": "x", "role": "tool", "toolCallId": call["toolCallId"], "content": "done"}
    second = await run(http, "FRONT", result, tools=[PAINT])
    assert call["toolCallName"] == "paint"
    assert first.of("TOOL_CALL_ARGS")[0]["delta"] == '{"colour":"red"}'
    pending = {"type": "success", "pendingToolCallIds": [call["toolCallId"]]}
    assert first.last["outcome"] == pending
    assert (first.text, second.text) == ("", "painted: done")


async def test_pending_calls_are_named_to_current_clients_only(http):
    old = await run(http, "FRONT", tools=[PAINT], protocolVersion=None)
    assert old.of("TOOL_CALL_START")
    assert old.last["outcome"] == {"type": "success"}


async def test_a_tool_that_the_front_end_does_not_have_is_a_question(http):
    first = await run(http, "FRONT")
    second = await run(http, resume=resuming(first.interrupt, "done"))
    assert first.interrupt["message"].startswith("Please run paint")
    assert second.text == "painted: done"


async def test_a_call_that_is_left_unanswered_is_abandoned(http):
    first = await run(http, "FRONT", tools=[PAINT])
    second = await run(http, "hello", tools=[PAINT])
    [ids] = first.custom("a2a:task")
    task = await http.get(f"/tasks/{ids['taskId']}", headers={"A2A-Version": "1.0"})
    assert second.text == "worked on hello"
    assert task.json()["status"]["state"] == "TASK_STATE_CANCELED"
