"""Interrupts become questions, which are answered at once, by id or in turn."""

from __future__ import annotations

import pytest
from a2a_adapters_strands import adapt
from strands import Agent, ToolContext, tool

from a2a_adapters import Data, InputRequired, Rejected, ToolCall, ToolResult
from tests.plugins.strands.support import Fake, calling, results, said
from tests.support.adapters import answer, ask, data, only, reply, request


def booking(log=None):
    """Return an agent that asks for two approvals in one turn, and repeats the results."""

    @tool(context=True)
    def book(city: str, tool_context: ToolContext) -> str:
        """Book a trip."""
        decision = tool_context.interrupt("book", {"question": f"Book {city}?", "city": city})
        if log is not None:
            log.append(city)
        return f"{city}: {decision}"

    def model(messages):
        if done := results(messages):
            return "; ".join(done[key] for key in sorted(done))
        calls = [calling("book", f"c{n}", city=city) for n, city in enumerate(("Rome", "Oslo"))]
        return calls if said(messages)[-1] == "book" else f"heard {said(messages)[-1]}"

    return Agent(model=Fake(model), tools=[book], name="clerk")


def ids(events):
    return list(data(events)[-1]["response_schema"]["properties"])


async def test_several_questions_are_asked_at_once():
    events = await ask(adapt(booking()), "book", wants_progress=True)
    question = only(events, InputRequired)
    assert question.durable
    assert question.prompt.startswith("1. Book Rome?\n2. Book Oslo?")
    assert [part["reason"]["city"] for part in data(events)[:2]] == ["Rome", "Oslo"]


async def test_questions_are_answered_by_id():
    log = []
    adapter = adapt(booking(log))
    first, second = ids(await ask(adapter, "book", wants_progress=True))
    events = await reply(adapter, Data({first: "yes", second: "no"}), wants_progress=True)
    assert answer(events) == "Rome: yes; Oslo: no"
    assert log == ["Rome", "Oslo"]
    assert not [event for event in events if isinstance(event, ToolCall)]  # reported before
    found = [event.result for event in events if isinstance(event, ToolResult)]
    assert sorted(found) == ["Oslo: no", "Rome: yes"]


async def test_questions_are_answered_in_turn():
    log = []
    adapter = adapt(booking(log))
    await ask(adapter, "book")
    events = await reply(adapter, "yes")
    assert only(events, InputRequired).prompt == "Book Oslo?"
    assert log == []  # the run goes on once, with all answers
    assert answer(await reply(adapter, "no")) == "Rome: yes; Oslo: no"


@pytest.mark.parametrize("part", [" ", Data({})])
async def test_empty_replies_are_asked_again(part):
    adapter = adapt(booking())
    await ask(adapter, "book")
    events = await reply(adapter, part)
    assert only(events, InputRequired).prompt.startswith("The reply is empty.\n\n1. Book Rome?")


async def test_replies_to_questions_that_are_not_open_are_asked_again():
    adapter = adapt(booking())
    first, _ = ids(await ask(adapter, "book"))
    events = await reply(adapter, Data({first: "yes", "x": "no"}))
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
    assert said(agent.model.heard[-1]) == ["hi", "bye"]
