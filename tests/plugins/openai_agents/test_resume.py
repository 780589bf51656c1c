"""An agent's process is killed; the next one resumes after the last finished turn."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager

import pytest
from a2a.types import Message
from a2a_adapters_openai_agents import adapt
from agents import Agent, GuardrailFunctionOutput, function_tool, handoff, output_guardrail
from openai.types.responses.response_output_item import ImageGenerationCall
from pydantic import BaseModel

from a2a_adapters import Data, File, InputRequired, Output, Rejected, TaskMetadata
from a2a_adapters.plugin import ResumeError, as_json
from a2a_adapters.testing import ResumeContract
from tests.plugins.openai_agents.support import Fake, agent, calling, script
from tests.support.adapters import Process, answer, ask, only, reply, request
from tests.support.warm import warm

SERVED = "tests.plugins.openai_agents.served_resume"

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]


class TestResume(ResumeContract):
    def command(self, storage, work):
        return warm("-m", SERVED, storage, str(work))


def process(url, agent):
    return Process(url, adapt(agent, durable=True))


@function_tool
async def look() -> str:
    """Look."""
    return "rain"


@function_tool(needs_approval=True)
async def book() -> str:
    """Book."""
    return "booked"


class Place(BaseModel):
    city: str


@output_guardrail
async def passes(context, agent, output):
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)


def drawn():
    """Return the image of a hosted tool."""
    return ImageGenerationCall(
        id="i", result="AAAA", status="completed", type="image_generation_call"
    )


class Halting(Fake):
    """Gives the answers in turn; the last one never arrives."""

    def __init__(self, *answers):
        self.halts = asyncio.Event()
        left = list(answers)

        async def next_answer(_):
            if left:
                return left.pop(0)
            self.halts.set()
            return await asyncio.Event().wait()

        super().__init__(next_answer)


@asynccontextmanager
async def cut_off(url, agent, model):
    """Begin a run and abandon it where its model halts, as a killed process does."""
    async with process(url, agent) as adapter:
        running = asyncio.create_task(ask(adapter, "weather?"))
        await model.halts.wait()
    yield
    running.cancel()


async def events_of(stream):
    async with aclosing(stream) as events:
        return [event async for event in events]


async def resumed(adapter, **fields):
    return await events_of(adapter.resume(request("weather?", **fields)))


def rest(events):
    """Return the events other than text."""
    parts = [
        (as_json(part.value), part.schema) if isinstance(part, Data) else part
        for event in events
        if isinstance(event, Output)
        for part in event.parts
    ]
    return parts, only(events, TaskMetadata)


async def test_finished_turns_are_sent_again_but_not_run_again(url):
    halting = Halting(["Let me see.", calling("look")])
    model = script("It rains.", "Yes.")
    async with (
        cut_off(url, Agent(name="helper", model=halting, tools=[look]), halting),
        process(url, Agent(name="helper", model=model, tools=[look])) as adapter,
    ):
        assert answer(await resumed(adapter)) == "Let me see.\n\nIt rains."
        kinds = [item.get("type") or item["role"] for item in model.heard[0]]
        assert kinds == ["user", "message", "function_call", "function_call_output"]
        assert answer(await ask(adapter, "sure?", task_id="next")) == "Yes."
        assert len(model.heard[1]) == 6


async def test_images_of_finished_turns_are_sent_again(url):
    halting = Halting(["Look:", drawn(), "A cat.", calling("look")])
    async with (
        cut_off(url, Agent(name="helper", model=halting, tools=[look]), halting),
        process(url, agent("It rains.", tools=[look])) as adapter,
    ):
        events = await resumed(adapter)
    image = Output([File(content=b"\0\0\0", media_type="image/png")], metadata={"source": "helper"})
    assert image in events
    assert answer(events[: events.index(image)]) == "Look:"
    assert answer(events) == "Look:\n\nA cat.\n\nIt rains."


@pytest.mark.parametrize("handed", [lambda expert: expert, handoff])
async def test_runs_resume_with_the_agent_of_the_handoff(url, handed):
    halting = Halting(calling("look", call_id="c2"))
    expert = Agent(name="expert", model=halting, tools=[look])
    front = agent(calling("transfer_to_expert"), name="front", handoffs=[handed(expert)])
    same = agent(name="front", handoffs=[handed(agent("It rains.", name="expert", tools=[look]))])
    async with cut_off(url, front, halting), process(url, same) as adapter:
        assert answer(await resumed(adapter)) == "It rains."


async def test_runs_without_a_finished_turn_start_over(url):
    halting = Halting()
    begun = Agent(name="helper", model=halting)
    async with cut_off(url, begun, halting), process(url, agent("It rains.")) as adapter:
        assert answer(await resumed(adapter)) == "It rains."
    async with process(url, agent("It rains.")) as adapter:
        assert answer(await resumed(adapter, task_id="other", context_id="new")) == "It rains."


async def test_interrupted_approvals_fail(url):
    async with process(url, agent("unused")) as adapter:
        with pytest.raises(ResumeError, match="start a new task"):
            await resumed(adapter, resuming=True)


async def test_text_before_a_question_is_not_sent_again(url):
    turn = ["Let me see.", calling("book")]
    clerk = agent(turn, name="clerk", tools=[book])
    async with process(url, clerk) as adapter:
        assert answer(await ask(adapter, "trip?")) == "Let me see."
    halting = Halting(["Booked.", calling("look", call_id="c2")])
    stopped = Agent(name="clerk", model=halting, tools=[book, look])
    async with process(url, stopped) as adapter:
        running = asyncio.create_task(reply(adapter, "yes"))
        await halting.halts.wait()
    for _ in range(2):  # the next process is killed, too
        halting = Halting()
        async with process(url, Agent(name="clerk", model=halting, tools=[look])) as adapter:
            again = asyncio.create_task(resumed(adapter, resuming=True))
            await halting.halts.wait()
        again.cancel()
    running.cancel()
    async with process(url, agent("Done.", name="clerk", tools=[book, look])) as adapter:
        assert answer(await resumed(adapter, resuming=True)) == "Booked.\n\nDone."


@pytest.mark.parametrize(
    ("answers", "options"),
    [
        (["It rains."], {}),
        ([["Let me see.", calling("look")], "It rains."], {"output_guardrails": [passes]}),
        (['{"city": "Rome"}'], {"output_type": Place}),
        ([["Let me see.", calling("look")]], {"tool_use_behavior": "stop_on_first_tool"}),
        ([[drawn(), "There."]], {"output_guardrails": [passes]}),
    ],
)
async def test_ended_runs_are_sent_again_but_not_run_again(url, answers, options):
    made = agent(*answers, tools=[look], **options)
    async with process(url, made) as adapter:
        first_events = await ask(adapter, "weather?")
    model = Halting()
    async with process(url, Agent(name="helper", model=model, tools=[look], **options)) as adapter:
        again = await resumed(adapter)
        assert answer(again) == answer(first_events)
        assert rest(again) == rest(first_events)
    assert len(model.heard) == 0


async def test_open_questions_are_asked_again(url):
    turn = [["Let me see.", calling("look")], ["Shall I?", calling("book", call_id="c2")]]
    first = request("trip?", message=Message(message_id="first"))
    async with process(url, agent(*turn, tools=[look, book])) as adapter:
        first_events = await events_of(adapter.stream(first))
    async with process(url, agent("Booked.", tools=[look, book])) as adapter:
        again = await events_of(adapter.resume(first))
        assert answer(again) == answer(first_events) == "Let me see.\n\nShall I?"
        assert only(again, InputRequired) == only(first_events, InputRequired)
        yes = request("yes", message=Message(message_id="second"), resuming=True)
        assert answer(await events_of(adapter.resume(yes))) == "Booked."


async def test_questions_of_changed_agents_are_not_asked_again(url):
    async with process(url, agent(calling("book"), tools=[book])) as adapter:
        await ask(adapter, "trip?")
    async with process(url, agent("hello", name="somebody else")) as adapter:
        assert "has changed" in only(await resumed(adapter), Rejected).reason


async def test_unchecked_text_is_not_sent_again(url):
    halting = Halting()
    guarded = {"output_guardrails": [passes]}
    expert = Agent(name="expert", model=halting)
    turn = ["the secret is 42", calling("transfer_to_expert")]
    front = agent(turn, name="front", handoffs=[expert], **guarded)
    same = agent(name="front", handoffs=[agent("It rains.", name="expert")], **guarded)
    async with cut_off(url, front, halting), process(url, same) as adapter:
        assert answer(await resumed(adapter)) == "It rains."
