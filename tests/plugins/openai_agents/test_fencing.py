"""Two processes with a shared database: a paused run cannot overwrite newer data."""

from __future__ import annotations

import asyncio
import signal

import pytest
from a2a_adapters_openai_agents import adapt
from agents import Agent

from a2a_adapters import InputRequired
from a2a_adapters.plugin import ResumeError
from tests.plugins.openai_agents import support
from tests.plugins.openai_agents.served_paused import until_there
from tests.plugins.openai_agents.support import Fake, agent, calling
from tests.plugins.openai_agents.test_memory import clerk
from tests.plugins.openai_agents.test_resume import look, resumed
from tests.plugins.sql.conftest import new_url
from tests.plugins.sql.test_resume import Caller, texts
from tests.support.adapters import Process, answer, ask, only
from tests.support.agents.memory import listener
from tests.support.processes import launched
from tests.support.warm import warm

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]


@pytest.fixture
def url(tmp_path):
    return new_url("postgresql", tmp_path)


def process(url, agent, **options):
    return Process(url, adapt(agent, **options))


class Paused(Fake):
    """Waits for a signal before each answer."""

    def __init__(self, *answers):
        self.heard_of = asyncio.Event()
        self.goes_on = asyncio.Event()
        left = list(answers)

        async def next_answer(_):
            self.heard_of.set()
            await self.goes_on.wait()
            return left.pop(0)

        super().__init__(next_answer)


@pytest.mark.parametrize("durable", [False, True])
async def test_paused_runs_do_not_overwrite_newer_ones(url, durable):
    model = Paused("too late")
    slow = Agent(name="listener", model=model)
    async with (
        process(url, slow, durable=durable) as sleeper,
        process(url, listener(support), durable=durable) as other,
    ):
        paused = asyncio.create_task(ask(sleeper, "lost", task_id="paused"))
        await model.heard_of.wait()
        assert answer(await ask(other, "kept", task_id="newer")) == "kept"
        model.goes_on.set()
        with pytest.raises(ResumeError, match="Another process"):
            await paused
        assert answer(await ask(other, "next", task_id="next")) == "kept next"


@pytest.mark.parametrize("durable", [False, True])
async def test_paused_runs_do_not_write_once_another_has_begun(url, durable):
    late, newer = Paused("too late"), Paused("in time")
    async with (
        process(url, Agent(name="helper", model=late), durable=durable) as sleeper,
        process(url, Agent(name="helper", model=newer), durable=durable) as other,
    ):
        paused = asyncio.create_task(ask(sleeper, "lost", task_id="paused"))
        await late.heard_of.wait()
        running = asyncio.create_task(ask(other, "kept", task_id="newer"))
        await newer.heard_of.wait()
        late.goes_on.set()
        with pytest.raises(ResumeError, match="Another process"):
            await paused
        newer.goes_on.set()
        assert answer(await running) == "in time"
    async with process(url, listener(support), durable=durable) as after:
        assert answer(await ask(after, "next", task_id="next")) == "kept next"


async def test_only_the_new_owner_finishes_a_run(url):
    late, heir = Paused(calling("look"), "too late"), Paused("It rains.")
    first = Agent(name="helper", model=late, tools=[look])
    second = Agent(name="helper", model=heir, tools=[look])
    async with (
        process(url, first, durable=True) as sleeper,
        process(url, second, durable=True) as other,
    ):
        paused = asyncio.create_task(ask(sleeper, "weather?"))
        await late.heard_of.wait()
        taking_over = asyncio.create_task(resumed(other))
        await heir.heard_of.wait()
        late.goes_on.set()
        with pytest.raises(ResumeError, match="Another process"):
            await paused
        heir.goes_on.set()
        assert answer(await taking_over) == "It rains."
    async with process(url, listener(support)) as after:
        assert answer(await ask(after, "sure?", task_id="next")) == "weather? sure?"


async def test_processes_with_an_expired_lease_do_not_overwrite_others(url, tmp_path):
    served = "tests.plugins.openai_agents.served_paused"
    command = warm("-m", served, url, str(tmp_path))
    with launched(command) as (sleeper, at_sleeper), launched(command) as (_, at_other):
        async with Caller(at_sleeper) as one, Caller(at_other) as other:
            lost = await one.send("slow")
            await until_there(tmp_path / "begun")
            sleeper.send_signal(signal.SIGSTOP)
            ended = await other.ended(lost["id"])
            assert ended["status"]["state"] == "TASK_STATE_FAILED"
            assert texts(await other.send("kept", wait=True)) == ["kept"]
            (tmp_path / "go").touch()
            sleeper.send_signal(signal.SIGCONT)
            assert texts(await one.send("next", wait=True)) == ["kept next"]
            assert await other.get(lost["id"]) == ended


async def test_paused_runs_do_not_replace_a_question(url):
    model = Paused("too late")
    async with (
        process(url, Agent(name="clerk", model=model)) as sleeper,
        process(url, clerk("Rome")) as other,
    ):
        paused = asyncio.create_task(ask(sleeper, "lost", task_id="paused"))
        await model.heard_of.wait()
        only(await ask(other, "book", task_id="newer"), InputRequired)
        model.goes_on.set()
        with pytest.raises(ResumeError, match="Another process"):
            await paused
        booked = await ask(other, "yes", task_id="newer", resuming=True)
        assert answer(booked) == "booked Rome"


async def test_one_of_two_concurrent_replies_counts(url):
    async with process(url, clerk("Rome")) as one, process(url, clerk("Rome")) as other:
        only(await ask(one, "book"), InputRequired)
        said = await asyncio.gather(
            *(ask(each, "yes", resuming=True) for each in (one, other)), return_exceptions=True
        )
    assert [isinstance(each, ResumeError) for each in said].count(True) == 1 or any(
        "no longer open" in str(each) for each in said
    )


@pytest.mark.parametrize("durable", [False, True])
async def test_conversations_follow_handoffs_on_request(url, durable):
    def front():
        expert = agent("an expert", "once more", name="expert")
        return agent(calling("transfer_to_expert"), name="front", handoffs=[expert])

    async with process(url, front(), durable=durable, follow_handoffs=True) as adapter:
        assert answer(await ask(adapter, "one")) == "an expert"
        assert answer(await ask(adapter, "two", task_id="other")) == "once more"
    async with process(url, front(), durable=durable, follow_handoffs=True) as adapter:
        assert answer(await ask(adapter, "three", task_id="third")) == "an expert"
