"""Answers are streamed once, without the thoughts of agents."""

from __future__ import annotations

import asyncio

import pytest
from a2a.types import GetTaskRequest
from a2a_adapters_crewai import adapt
from crewai import Crew, Process
from crewai.flow import Flow, listen, router, start
from crewai.tasks import TaskOutput
from crewai.tools import BaseTool
from pydantic import BaseModel

from a2a_adapters import Output, TextDelta, build_app
from a2a_adapters.testing import answer_of, connect, running, stream, user_message
from tests.plugins.crewai.support import (
    Call,
    Scripted,
    agent,
    answer,
    ask,
    openai_model,
    question,
    request,
    task,
    tool_call,
)

LONG = "Cats purr when they are fed, and when they are not, they tell you of it at once."
DELEGATION = '{"task": "help", "context": "cats", "coworker": "Writer"}'


class Look(BaseTool):
    name: str = "look"
    description: str = "Look."

    def _run(self) -> str:
        return "seen"


class Line(BaseModel):
    line: str


def make(*script, tools=(), stream=True, **fields):
    """Return a crew of an agent without output and one that follows the script."""
    first = agent(Scripted("Secret facts of the first task, long enough.", stream=stream))
    last = agent(Scripted(*script, stream=stream), role="Speaker", tools=list(tools))
    return Crew(agents=[first, last], tasks=[task(first), task(last, **fields)])


def speaker(*script, **fields):
    """Return an agent whose model streams."""
    return agent(Scripted(*script, stream=True), **fields)


def streamed(events):
    return [event.text for event in events if isinstance(event, TextDelta)]


def whole(events):
    return "".join(streamed(events)) + answer(events)


@pytest.mark.parametrize(
    ("script", "tools"),
    [
        ([LONG], []),
        ([f"\n  {LONG}\n\n"], []),
        ([f"Thought: hmm\nFinal Answer: {LONG}"], []),
        ([f"```\nThought: hmm\nFinal Answer: {LONG}\n```"], []),
        ([tool_call("look", "{}"), f"Thought: a secret\nFinal Answer: {LONG}"], [Look()]),
        ([tool_call("look", "{}"), f"Thought: a secret\nFinal Answer:\n{LONG}\n"], [Look()]),
    ],
)
async def test_the_answer_is_streamed(script, tools):
    events = await ask(adapt(make(*script, tools=tools)), "cats")
    assert len(streamed(events)) > 3
    assert "".join(streamed(events)).strip() == LONG
    assert not any(isinstance(event, Output) for event in events)


@pytest.mark.parametrize(
    "text",
    [
        f"<think>a secret</think>\n\n{LONG}",
        f"<think>a secret</think>Thought: hmm\nFinal Answer: {LONG}",
        f"Thought: hmm\nFinal Answer: <think>a secret</think>\n{LONG}",
    ],
)
@pytest.mark.parametrize("alone", [False, True])
async def test_reasoning_is_not_streamed(text, alone):
    target = speaker(text) if alone else make(text)
    events = await ask(adapt(target), "cats")
    assert "secret" not in str(events)
    assert len(streamed(events)) > 3
    assert whole(events) == LONG


@pytest.mark.parametrize("text", ["Hi.", "Thought: hmm\nFinal Answer: Hi.", "T", "Final"])
async def test_a_short_answer_is_sent_once(text):
    events = await ask(adapt(make(text)), "cats")
    assert whole(events) == text.rpartition("Final Answer: ")[2]


@pytest.mark.parametrize(
    "fields",
    [
        {"stream": False},
        {"output_json": Line},
        {"output_pydantic": Line},
        {"guardrail": lambda output: (True, output.raw.upper())},
        {"guardrails": [lambda output: (True, output.raw.upper())]},
    ],
)
async def test_an_answer_that_may_change_later_is_not_streamed(fields):
    events = await ask(adapt(make('{"line": "a line that is long enough"}', **fields)), "cats")
    assert not streamed(events)
    assert sum(isinstance(event, Output) for event in events) == 1


async def test_a_draft_is_shown_only_to_its_reviewer():
    run = adapt(make(LONG, human_input=True)).stream(request("cats"))
    assert LONG in (await question(run)).prompt
    events = [await run.asend(request("ok")), *[event async for event in run]]
    assert not streamed(events)
    assert answer(events) == LONG


async def test_a_callback_after_the_kickoff_can_change_the_answer():
    def sign(result):
        result.raw += " Yours, crew"
        return result

    target = make(LONG)
    target.after_kickoff_callbacks = [sign]
    events = await ask(adapt(target), "cats")
    assert not streamed(events)
    assert answer(events) == f"{LONG} Yours, crew"


async def test_the_manager_of_a_hierarchy_is_streamed():
    target = make("A secret of a member, which is long enough to be heard.")
    target.process = Process.hierarchical
    delegating = tool_call("delegate_work_to_coworker", DELEGATION)
    said = ["Final Answer: done", delegating, f"Thought: a secret\nFinal Answer: {LONG}"]
    target.manager_llm = Scripted(*said, stream=True)
    events = await ask(adapt(target), "cats")
    assert "secret" not in str(events)
    assert len(streamed(events)) > 3
    assert whole(events) == LONG


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(
    ("script", "answered"),
    [
        ([LONG], LONG),
        ([Call("look"), LONG], LONG),
        ([Call("look"), Call("look"), f"\n{LONG}\n"], LONG),
        ([Call("look"), f"<think>a secret</think>{LONG}"], LONG),
        ([Call("look", "I look it up. "), LONG], f"I look it up.\n\n{LONG}"),
        ([Call("look", "Hm"), Call("look", "Ah"), LONG], f"Hm\n\nAh\n\n{LONG}"),
    ],
)
async def test_an_agent_with_tools_of_the_model_api_is_streamed(alone, script, answered):
    async with openai_model(*script) as model:
        talker = agent(model, tools=[Look()])
        target = talker if alone else Crew(agents=[talker], tasks=[task(talker)])
        events = await ask(adapt(target), "cats")
    assert "secret" not in str(events)
    assert len(streamed(events)) > 3
    assert "".join(streamed(events)).strip() == answered
    assert not any(isinstance(event, Output) for event in events)


async def test_the_result_of_a_tool_can_be_the_answer():
    async with openai_model(Call("look", "I look it up.")) as model:
        talker = agent(model, tools=[Look(result_as_answer=True)])
        events = await ask(adapt(Crew(agents=[talker], tasks=[task(talker)])), "cats")
    assert whole(events) == "I look it up.\n\nseen"


async def test_an_answer_that_differs_from_its_stream_is_sent_whole():
    def correct(output: TaskOutput):
        output.raw = "Dogs bark."

    events = await ask(adapt(make(LONG, callback=correct)), "cats")
    assert answer(events) == "Dogs bark."


async def test_a_model_that_fails_midway_repeats_nothing():
    class Failing(Scripted):
        def _emit_call_completed_event(self, *args, **kwargs):
            if len(self.seen) == 1:
                raise ConnectionError("lost")
            super()._emit_call_completed_event(*args, **kwargs)

    talker = agent(Failing(LONG, stream=True))
    events = await ask(adapt(Crew(agents=[talker], tasks=[task(talker)])), "cats")
    assert whole(events) == LONG


async def test_a_client_receives_the_stream_and_the_text_is_stored_once():
    async with running(build_app(adapt(make(LONG)))) as url, connect(url) as client:
        updates = await stream(client, user_message("cats"))
        words = [u.artifact_update for u in updates if u.HasField("artifact_update")]
        stored = await client.get_task(GetTaskRequest(id=words[0].task_id))
    assert len(words) > 3
    assert answer_of(stored) == LONG


@pytest.mark.parametrize(
    ("script", "tools"),
    [
        ([LONG], []),
        ([f"Thought: a secret\nFinal Answer: {LONG}"], []),
        ([tool_call("look", "{}"), f"Thought: a secret\nFinal Answer: {LONG}"], [Look()]),
    ],
)
async def test_an_agent_outside_of_crews_is_streamed(script, tools):
    events = await ask(adapt(speaker(*script, tools=tools)), "cats")
    assert len(streamed(events)) > 3
    assert "".join(streamed(events)).strip() == LONG
    assert not any(isinstance(event, Output) for event in events)


async def test_an_agent_with_a_guardrail_is_not_streamed():
    target = speaker(LONG, guardrail=lambda output: (True, output.raw.upper()))
    events = await ask(adapt(target), "cats")
    assert not streamed(events)
    assert answer(events) == LONG.upper()


def plan(_):
    return speaker("A secret plan, which is long enough to be heard.").kickoff("plan").raw


class ByCrew(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        result = make(LONG).kickoff(inputs={"topic": "cats"})
        self.state["text"] = result.raw
        return result.raw


class ByAgent(Flow):
    plan = start()(plan)

    @listen(plan)
    async def write(self):
        return await speaker(LONG).kickoff_async("write")


class ByModel(Flow):
    plan = start()(plan)

    @router(plan)
    def way(self):
        return "prose" if speaker("A secret way, which is long enough.").kickoff("?") else "verse"

    @listen("prose")
    def write(self):
        return Scripted(f"<think>a secret</think>{LONG}", stream=True).call("write")

    @listen("verse")
    def rhyme(self):
        return "never"


@pytest.mark.parametrize("flow", [ByCrew, ByAgent, ByModel])
async def test_a_flow_streams_the_method_that_answers(flow):
    events = await ask(adapt(flow), "cats")
    assert "secret" not in str(events)
    assert len(streamed(events)) > 3
    assert whole(events) == LONG


class Changed(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        return speaker(LONG).kickoff("write").raw.upper()


class Twice(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        draft = speaker("A secret draft, which is long enough.").kickoff("draft").raw
        return speaker(LONG).kickoff(draft).raw


class Again(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        for _ in range(2):
            text = speaker(LONG).kickoff("write").raw
        return text


class Replaced(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        text = speaker(LONG).kickoff("write").raw
        return text or "nothing"


class Guarded(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        return make(LONG, guardrail=lambda output: (True, output.raw)).kickoff({"topic": "x"}).raw


@pytest.mark.parametrize("flow", [Changed, Twice, Again, Replaced, Guarded])
async def test_a_flow_that_may_change_the_text_is_not_streamed(flow):
    events = await ask(adapt(flow), "cats")
    assert not streamed(events)
    assert "secret" not in str(events)
    assert answer(events).lower() == LONG.lower()


class Both(Flow):
    """Has two concurrent methods that answer."""

    @start()
    async def one(self):
        return await speaker(LONG).kickoff_async("one")

    @start()
    async def two(self):
        return await speaker(LONG).kickoff_async("two")


async def test_concurrent_methods_do_not_mix():
    assert whole(await ask(adapt(Both), "cats")) == LONG


async def test_streams_of_callers_are_isolated():
    def repeat(prompt):
        return f"You said {prompt.rpartition('Current Task: ')[2].splitlines()[0]}, I am sure."

    served = adapt(speaker(repeat))
    runs = await asyncio.gather(*(ask(served, f"text {n}") for n in range(8)))
    assert [whole(events) for events in runs] == [
        f"You said text {n}, I am sure." for n in range(8)
    ]
