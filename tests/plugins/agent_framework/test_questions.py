"""Approvals become questions, which are answered at once, by id or in turn."""

from __future__ import annotations

import pytest
from a2a_adapters_agent_framework import adapt
from agent_framework import Agent, Content, tool

from a2a_adapters import Data, InputRequired, Rejected, ToolCall, ToolResult
from tests.plugins.agent_framework.support import Fake, calling, results, said
from tests.support.adapters import answer, ask, data, only, reply, request


def booking(log=None):
    """Return an agent that asks for two approvals in one turn, and repeats the results."""

    @tool(approval_mode="always_require")
    def book(city: str) -> str:
        """Book a trip."""
        if log is not None:
            log.append(city)
        return f"{city} booked"

    def model(messages):
        if done := results(messages):
            return "; ".join(done[key] for key in sorted(done))
        calls = [calling("book", f"c{n}", city=city) for n, city in enumerate(("Rome", "Oslo"))]
        return calls if said(messages)[-1] == "book" else f"heard {said(messages)[-1]}"

    return Agent(client=Fake(model), tools=[book], name="clerk")


def ids(events):
    return list(data(events)[-1]["response_schema"]["properties"])


async def test_several_approvals_are_asked_at_once():
    events = await ask(adapt(booking()), "book", wants_progress=True)
    question = only(events, InputRequired)
    assert question.durable
    first = 'The agent wants to call book({"city":"Rome"}).'
    assert question.prompt.startswith(f"1. {first}\n2. ")
    assert [part["arguments"]["city"] for part in data(events)[:2]] == ["Rome", "Oslo"]
    schemas = data(events)[-1]["response_schema"]["properties"].values()
    assert [schema["type"] for schema in schemas] == ["boolean", "boolean"]
    assert not [event for event in events if isinstance(event, ToolCall)]  # not made yet


async def test_approvals_are_answered_by_id():
    log = []
    adapter = adapt(booking(log))
    first, second = ids(await ask(adapter, "book"))
    events = await reply(adapter, Data({first: True, second: "too cold"}), wants_progress=True)
    said = "The user did not approve this call, and says: too cold"
    assert answer(events) == f"Rome booked; {said}"
    assert log == ["Rome"]
    assert [event.arguments for event in events if isinstance(event, ToolCall)] == [
        {"city": "Rome"}
    ]
    assert [event.result for event in events if isinstance(event, ToolResult)] == ["Rome booked"]


async def test_approvals_are_answered_in_turn():
    log = []
    adapter = adapt(booking(log))
    await ask(adapter, "book")
    events = await reply(adapter, "yes")
    assert "Oslo" in only(events, InputRequired).prompt
    assert log == []  # the run goes on once, with all answers
    assert "rejected by user" in answer(await reply(adapter, "no"))
    assert log == ["Rome"]


@pytest.mark.parametrize("part", [" ", Data({})])
async def test_empty_replies_are_asked_again(part):
    adapter = adapt(booking())
    await ask(adapter, "book")
    events = await reply(adapter, part)
    assert only(events, InputRequired).prompt.startswith("That decides nothing.\n\n1. The agent")


async def test_replies_to_questions_that_are_not_open_are_asked_again():
    adapter = adapt(booking())
    first, _ = ids(await ask(adapter, "book"))
    events = await reply(adapter, Data({first: True, "x": True}))
    assert "The question x is not open." in only(events, InputRequired).prompt


async def test_closed_questions_are_not_answered():
    adapter = adapt(booking())
    await ask(adapter, "book")
    assert only(await reply(adapter, "yes", task_id="other"), Rejected)


async def test_new_messages_wait_for_the_answer_or_drop_the_question():
    adapter = adapt(booking())
    await ask(adapter, "book")

    async def no() -> bool:
        return False

    assert only(await ask(adapter, "hello", task_id="other"), Rejected)
    assert answer(await ask(adapter, "hello", task_id="other", others_wait=no)) == "heard hello"


async def test_abandoned_questions_leave_the_conversation_as_before():
    agent = booking()
    adapter = adapt(agent)
    await ask(adapter, "hi")
    await ask(adapter, "book")
    await adapter.abandon(request("book"))
    await ask(adapter, "bye", task_id="other")
    assert said(agent.client.heard[-1]) == ["hi", "bye"]


async def test_calls_without_arguments_are_asked_about():
    @tool(approval_mode="always_require")
    def leave() -> str:
        """Leave."""
        return "gone"

    def model(messages):
        return results(messages).get("c1") or Content.from_function_call("c1", "leave")

    adapter = adapt(Agent(client=Fake(model), tools=[leave]))
    events = await ask(adapter, "go")
    assert only(events, InputRequired).prompt.startswith("The agent wants to call leave().")
    assert answer(await reply(adapter, "yes")) == "gone"
