"""An agent's process is killed: the next one goes on after the last finished turn."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager

import pytest
from a2a_adapters_openai_agents import adapt
from agents import Agent, function_tool, handoff

from a2a_adapters import ResumeError
from a2a_adapters.testing import ResumeContract
from tests.plugins.openai_agents.support import Fake, agent, answer, ask, calling, request, script
from tests.plugins.restarts import Process
from tests.warm import warm

SERVED = "tests.plugins.openai_agents.served_resume"

pytestmark = pytest.mark.timeout(300)


class TestResume(ResumeContract):
    def command(self, storage, work):
        return warm("-m", SERVED, storage, str(work))


def process(url, agent):
    return Process(url, adapt(agent, durable=True))


@function_tool
async def look() -> str:
    """Look."""
    return "rain"


class Halting(Fake):
    """Answers in turn; the last answer never comes."""

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
    """Begin a run and leave it where its model halts, as a process does that is killed."""
    async with process(url, agent) as adapter:
        running = asyncio.create_task(ask(adapter, "weather?"))
        await model.halts.wait()
    yield
    running.cancel()


async def resumed(adapter, **fields):
    async with aclosing(adapter.resume(request("weather?", **fields))) as events:
        return [event async for event in events]


async def test_finished_turns_are_told_again_and_not_done_again(url):
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


@pytest.mark.parametrize("handed", [lambda expert: expert, handoff])
async def test_who_was_handed_over_to_goes_on(url, handed):
    halting = Halting(calling("look", call_id="c2"))
    expert = Agent(name="expert", model=halting, tools=[look])
    front = agent(calling("transfer_to_expert"), name="front", handoffs=[handed(expert)])
    same = agent(name="front", handoffs=[handed(agent("It rains.", name="expert", tools=[look]))])
    async with cut_off(url, front, halting), process(url, same) as adapter:
        assert answer(await resumed(adapter)) == "It rains."


async def test_before_its_first_turn_a_run_begins_anew(url):
    halting = Halting()
    begun = Agent(name="helper", model=halting)
    async with cut_off(url, begun, halting), process(url, agent("It rains.")) as adapter:
        assert answer(await resumed(adapter)) == "It rains."
    async with process(url, agent("It rains.")) as adapter:
        assert answer(await resumed(adapter, task_id="other", context_id="new")) == "It rains."


async def test_of_an_approval_that_was_cut_off_nobody_knows_what_came(url):
    async with process(url, agent("unused")) as adapter:
        with pytest.raises(ResumeError, match="start a new task"):
            await resumed(adapter, resuming=True)
