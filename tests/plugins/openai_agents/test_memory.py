"""Conversations and approvals, in the process and in a storage."""

from __future__ import annotations

import pytest
from a2a_adapters_openai_agents import adapt
from agents import Agent, function_tool

from a2a_adapters import Data, InputRequired, Rejected, TaskMetadata
from tests.plugins.openai_agents import support
from tests.plugins.openai_agents.support import Fake, agent, calling, script
from tests.support.adapters import Process, answer, ask, data, only, reply
from tests.support.agents import memory, questions

BOOKED: list[str] = []


def process(url, agent):
    return Process(url, adapt(agent))


class TestMemory(memory.Memory):
    support = support


class TestQuestions(questions.OpenQuestions):
    support = support


@pytest.fixture(autouse=True)
def _nothing_is_booked():
    BOOKED.clear()


def clerk(*cities, name="clerk"):
    """Return an agent that books these cities in parallel and reports the results."""
    calls = [calling("book", call_id=f"call-{city}", city=city) for city in cities]

    def act(items):
        outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
        results = [output for output in outputs if "assistant" not in output]  # but for handoffs
        return "; ".join(results) if len(results) == len(cities) else calls

    return Agent(name=name, model=Fake(act), tools=[support.book(BOOKED)])


async def test_tool_calls_are_part_of_the_conversation():
    model = script(calling("look"), "It rains.", "As I said.")

    @function_tool
    def look() -> str:
        return "rain"

    adapter = adapt(Agent(name="helper", model=model, tools=[look]))
    await ask(adapter, "weather?")
    await ask(adapter, "sure?")
    kinds = [item.get("type") or item["role"] for item in model.heard[-1]]
    assert kinds == ["user", "function_call", "function_call_output", "message", "user"]


async def test_calls_that_need_approval_become_a_question():
    adapter = adapt(clerk("Rome"))
    events = await ask(adapter, "book")
    asked = only(events, InputRequired)
    assert asked.durable
    assert asked.prompt.startswith('clerk wants to call book({"city": "Rome"}).')
    assert data(events) == [
        {"call_id": "call-Rome", "agent": "clerk", "tool": "book", "arguments": {"city": "Rome"}}
    ]
    assert BOOKED == []
    assert answer(await reply(adapter, "Approve!")) == "booked Rome"
    assert BOOKED == ["Rome"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("no", "Tool execution was not approved."),
        ("Take Oslo", "The user did not approve this call, and says: Take Oslo"),
        ("yes, but Oslo", "The user did not approve this call, and says: yes, but Oslo"),
    ],
)
async def test_only_a_plain_yes_approves(words, expected):
    adapter = adapt(clerk("Rome"))
    await ask(adapter, "book")
    assert answer(await reply(adapter, words)) == expected
    assert BOOKED == []


async def test_calls_are_approved_after_a_restart(url):
    async with process(url, clerk("Rome")) as adapter:
        only(await ask(adapter, "book"), InputRequired)
    async with process(url, clerk("Rome")) as adapter:
        events = await reply(adapter, "yes")
        assert answer(events) == "booked Rome"
    assert BOOKED == ["Rome"]
    async with process(url, clerk("Rome")) as adapter:
        assert answer(await ask(adapter, "and?")) == "booked Rome"  # it is remembered


async def test_calls_are_decided_separately():
    adapter = adapt(clerk("Rome", "Oslo", "Bern"))
    await ask(adapter, "book")
    again = await reply(adapter, Data({"call-Rome": True, "call-Oslo": "too cold"}))
    assert [each["call_id"] for each in data(again)] == ["call-Bern"]
    done = answer(await reply(adapter, Data({"call-Bern": False})))
    assert BOOKED == ["Rome"]
    assert "says: too cold" in done


async def test_unclear_replies_are_requested_again():
    adapter = adapt(clerk("Rome"))
    await ask(adapter, "book")
    for value, complaint in (
        ({"call-Oslo": True}, "No call call-Oslo"),
        ({"call-Rome": 1}, "That"),
    ):
        events = await reply(adapter, Data(value))
        assert only(events, InputRequired).prompt.startswith(complaint)
    assert answer(await reply(adapter, Data(True))) == "booked Rome"


async def test_usage_includes_the_run_before_a_question():
    adapter = adapt(clerk("Rome"))
    asked = only(await ask(adapter, "book"), TaskMetadata).values["usage"]["total_tokens"]
    done = only(await reply(adapter, "yes"), TaskMetadata).values["usage"]["total_tokens"]
    assert (asked, done) == (7, 14)


async def test_changed_agents_reject_old_questions(url):
    async with process(url, clerk("Rome")) as adapter:
        await ask(adapter, "book")
    async with process(url, agent("hello", name="somebody else")) as adapter:
        assert "has changed" in only(await reply(adapter, "yes"), Rejected).reason
        assert answer(await ask(adapter, "hi", task_id="other")) == "hello"


async def test_approvals_after_a_handoff():
    front = agent(calling("transfer_to_clerk"), name="front", handoffs=[clerk("Rome")])
    adapter = adapt(front)
    only(await ask(adapter, "book"), InputRequired)
    assert answer(await reply(adapter, "yes")) == "booked Rome"


async def test_approvals_in_agents_as_tools():
    inner = clerk("Rome").as_tool("ask_clerk", "Asks the clerk.")
    outer = agent(calling("ask_clerk", call_id="outer", input="book"), "done", tools=[inner])
    adapter = adapt(outer)
    events = await ask(adapter, "book")
    assert [each["tool"] for each in data(events)] == ["book"]
    assert answer(await reply(adapter, "yes")) == "done"
    assert BOOKED == ["Rome"]
