"""Answers are streamed once, without the thoughts of agents."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from types import SimpleNamespace

import pytest
from a2a.types import GetTaskRequest
from a2a_adapters_crewai import adapt
from crewai import Agent, Crew, CrewOutput, Process
from crewai.flow import Flow, listen, router, start
from crewai.hooks import register_after_llm_call_hook, unregister_after_llm_call_hook
from crewai.project import CrewBase
from crewai.project import agent as of_agents
from crewai.project import crew as of_crews
from crewai.project import task as of_tasks
from crewai.tools import BaseTool
from pydantic import BaseModel, computed_field, model_serializer

from a2a_adapters import Output, TextDelta, build_app
from a2a_adapters.plugin import AnswerText, as_text
from a2a_adapters.testing import answer_of, connect, running, stream, user_message
from tests.plugins.crewai.support import (
    Call,
    Scripted,
    agent,
    answer,
    ask,
    only,
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


@CrewBase
class Press:
    """A crew as CrewAI's template has it."""

    agents_config: dict = {}  # noqa: RUF012
    tasks_config: dict = {}  # noqa: RUF012

    @of_agents
    def writer(self):
        return speaker(LONG)

    @of_tasks
    def write(self):
        return task(self.writer())

    @of_crews
    def crew(self):
        return Crew(agents=self.agents, tasks=self.tasks)


def speaker(*script, **fields):
    """Return an agent whose model streams."""
    return agent(Scripted(*script, stream=True), **fields)


def streamed(events):
    return [event.text for event in events if isinstance(event, TextDelta)]


def answered(events):
    """Return the answer, all but the end of which was streamed."""
    *words, last = [event for event in events if isinstance(event, TextDelta | AnswerText)]
    assert len(words) > 3
    assert last.text.startswith("".join(streamed(words)))
    assert not any(isinstance(event, Output) for event in events)
    return last.text


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
    assert answered(events).strip() == LONG


async def test_a_crew_base_is_streamed():
    adapter = adapt(Press)
    assert not adapter.holds_text
    assert answered(await ask(adapter, "cats")) == LONG


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
    assert answer(events) == LONG


@pytest.mark.parametrize("text", ["Hi.", "Thought: hmm\nFinal Answer: Hi.", "T", "Final"])
async def test_a_short_answer_is_sent_once(text):
    events = await ask(adapt(make(text)), "cats")
    assert answer(events) == text.rpartition("Final Answer: ")[2]


@pytest.mark.parametrize("fields", [{"output_json": Line}, {"output_pydantic": Line}])
async def test_structured_output_is_not_streamed(fields):
    events = await ask(adapt(make('{"line": "a line that is long enough"}', **fields)), "cats")
    assert not streamed(events)
    assert as_text(only(events, Output).parts) == '{"line":"a line that is long enough"}'


def upper(output):
    return True, output.raw.upper()


def shout(result):
    result.raw = result.raw.upper()
    return result


def with_callback():
    target = make(LONG)
    target.after_kickoff_callbacks = [shout]
    return target


@pytest.mark.parametrize(
    "make_target",
    [
        lambda: make(LONG, guardrail=upper),
        lambda: make(LONG, guardrails=[upper]),
        lambda: make(LONG, callback=shout),
        with_callback,
        lambda: speaker(LONG, guardrail=upper),
    ],
)
async def test_text_that_may_change_is_held_back_by_the_server(make_target):
    adapter = adapt(make_target())
    assert adapter.holds_text
    events = await ask(adapter, "cats")
    assert len(streamed(events)) > 3
    assert answer(events) == LONG.upper()


async def test_a_hook_that_is_registered_later_prevents_streaming():
    adapter = adapt(make(LONG))
    assert not adapter.holds_text

    def check(context):
        return context.response.upper()

    register_after_llm_call_hook(check)
    try:
        events = await ask(adapter, "cats")
        assert adapt(make(LONG)).holds_text
    finally:
        unregister_after_llm_call_hook(check)
    assert not streamed(events)
    assert answer(events) == LONG.upper()


async def test_a_draft_is_shown_only_to_its_reviewer():
    run = adapt(make(LONG, human_input=True)).stream(request("cats"))
    assert LONG in (await question(run)).prompt
    events = [await run.asend(request("ok")), *[event async for event in run]]
    assert not streamed(events)
    assert answer(events) == LONG


async def test_the_manager_of_a_hierarchy_is_streamed():
    target = make("A secret of a member, which is long enough to be heard.")
    target.process = Process.hierarchical
    delegating = tool_call("delegate_work_to_coworker", DELEGATION)
    said = ["Final Answer: done", delegating, f"Thought: a secret\nFinal Answer: {LONG}"]
    target.manager_llm = Scripted(*said, stream=True)
    events = await ask(adapt(target), "cats")
    assert "secret" not in str(events)
    assert len(streamed(events)) > 3
    assert answer(events) == LONG


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(
    "script",
    [
        [LONG],
        [Call("look"), LONG],
        [Call("look"), f"<think>a secret</think>{LONG}"],
        [Call("look", "I look it up. Wait until I have it."), LONG],
        [Call("look", "I look it up. Wait until I have it."), Call("look", "Once more."), LONG],
    ],
)
async def test_an_agent_with_tools_of_the_model_api_is_streamed(alone, script):
    async with openai_model(*script) as model:
        talker = agent(model, tools=[Look()])
        target = talker if alone else Crew(agents=[talker], tasks=[task(talker)])
        events = await ask(adapt(target), "cats")
    withdrawn = [event for event in events if event == AnswerText("")]
    assert "secret" not in str(events)
    assert len(streamed(events)) > 3
    assert len(withdrawn) == ("Wait" in str(script))
    assert answer(events) == LONG


async def test_the_text_of_a_failed_attempt_is_withdrawn():
    class Failing(Scripted):
        def _emit_call_completed_event(self, *args, **kwargs):
            if len(self.seen) == 1:
                raise ConnectionError("lost")
            super()._emit_call_completed_event(*args, **kwargs)

    talker = agent(Failing("Half an answer, which is long enough.", LONG, stream=True))
    events = await ask(adapt(Crew(agents=[talker], tasks=[task(talker)])), "cats")
    withdrawal = events.index(AnswerText(""))
    assert "".join(streamed(events[:withdrawal])).startswith("Half an")
    assert answered(events[withdrawal:]) == LONG


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
    assert answered(events).strip() == LONG


def plan(_):
    return speaker("A secret plan, which is long enough to be heard.").kickoff("plan").raw


class ByCrew(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        result = make(LONG).kickoff(inputs={"topic": "cats"})
        self.state["text"] = result.raw
        return result.raw


class ByAnnotated(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        result: CrewOutput = make(LONG).kickoff(inputs={"topic": "cats"})
        return result.raw


class ByPress(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        return Press().crew().kickoff(inputs={"topic": "cats"}).raw


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


class InLines(Flow):
    plan = start()(plan)

    # fmt: off
    @listen(plan)
    async def write(self):
        """Write in several lines, as the templates of CrewAI do,
and with characters that are several bytes: “größer”.
"""
        result = (
            await make(LONG)
            .akickoff(inputs={"topic": "“Katzen”", "lines": [
                "größer"]})
        )
        self.state["größer"] = result.raw
        return result.raw
    # fmt: on


@pytest.mark.parametrize("flow", [ByCrew, ByAnnotated, ByPress, ByAgent, ByModel, InLines])
async def test_a_flow_streams_the_method_that_answers(flow):
    events = await ask(adapt(flow), "cats")
    assert "secret" not in str(events)
    assert len(streamed(events)) > 3
    assert answer(events) == LONG


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


class ByCrewInThread(Flow):
    plan = start()(plan)

    @listen(plan)
    async def write(self):
        return (await make(LONG).kickoff_async(inputs={"topic": "cats"})).raw


class Desk:
    """Calls a crew, and may check what it returns."""

    async def kickoff_async(self):
        return await make(LONG).kickoff_async(inputs={"topic": "cats"})

    @property
    def is_open(self):
        return True

    def __await__(self):
        return asyncio.sleep(0).__await__()

    def __str__(self):
        return "open"


class ByDeskInThread(Flow):
    plan = start()(plan)

    @listen(plan)
    async def write(self):
        return (await Desk().kickoff_async()).raw


class ReadingProperty(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        desk = Desk()
        text = speaker(LONG).kickoff("write").raw
        if desk.is_open:
            self.state["text"] = text
        return text


class Awaiting(Flow):
    plan = start()(plan)

    @listen(plan)
    async def write(self):
        desk = Desk()
        text = (await speaker(LONG).kickoff_async("write")).raw
        await desk
        return text


class Formatting(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        desk = Desk()
        text = speaker(LONG).kickoff("write").raw
        self.state["text"] = f"{desk}: {text}"
        return text


class Passing(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        if plan(text := speaker(LONG).kickoff("write").raw):
            return text
        return text


class Decorating(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        text = speaker(LONG).kickoff("write").raw

        @functools.cache
        def check():
            return text

        return text


def persist(method):
    return method


class Shadowing(Flow):
    plan = start()(plan)

    @listen(plan)
    @persist
    def write(self):
        return speaker(LONG).kickoff("write").raw


class Formatted(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        return Scripted(f'{{"line": "{LONG}"}}', stream=True).call("write", response_model=Line)


class SetterState(BaseModel):
    kept: str = ""

    @property
    def text(self):
        return self.kept

    @text.setter
    def text(self, text):
        self.kept = text


class SettingProperty(Flow[SetterState]):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        text = speaker(LONG).kickoff("write").raw
        self.state.text = text
        return text


class StateOfItsOwn(Flow):
    plan = start()(plan)

    @property
    def state(self):
        return super().state

    @listen(plan)
    def write(self):
        text = speaker(LONG).kickoff("write").raw
        self.state["text"] = text
        return text


def changed(method):
    """Return a method that may change what another one returns."""

    @functools.wraps(method)
    def write(self):
        return method(self).upper()

    return write


def say(self):
    return speaker(LONG).kickoff("write").raw


class Wrapped(Flow):
    plan = start()(plan)
    write = listen(plan)(changed(say))


class WrappedLater(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        return speaker(LONG).kickoff("write").raw


WrappedLater.write = changed(WrappedLater.write)


class SeveralFirst(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        drafts = make("A secret draft, which is long enough.").kickoff_for_each([{"topic": "x"}])
        return speaker(LONG).kickoff(str(len(drafts))).raw


class ByBoundMethod(Flow):
    plan = start()(plan)

    @listen(plan)
    async def write(self):
        ask = speaker("A secret draft, which is long enough.").kickoff_async
        return (await speaker(LONG).kickoff_async((await ask("draft")).raw[:1])).raw


class Numbering(Flow):
    """Counts what is written, after the call of the model though it stands before it."""

    plan = start()(plan)

    @listen(plan)
    def write(self):
        self.state[plan(self)] = text = speaker(LONG).kickoff("write").raw
        return text


class LocalPrint(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        print = plan  # noqa: A001
        text = speaker(LONG).kickoff("write").raw
        print(text)
        return text


def outer_print(print):  # noqa: A002
    class OuterPrint(Flow):
        plan = start()(plan)

        @listen(plan)
        def write(self):
            text = speaker(LONG).kickoff("write").raw
            print(text)
            return text

    return OuterPrint


class StateWithItems(BaseModel):
    kept: str = ""

    def __setitem__(self, name, text):
        self.kept = text


class SettingItem(Flow[StateWithItems]):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        text = speaker(LONG).kickoff("write").raw
        self.state["text"] = text
        return text


class StateWithTruth(BaseModel):
    kept: str = ""

    def __bool__(self):
        return True


class TestingState(Flow[StateWithTruth]):
    __test__ = False
    plan = start()(plan)

    @listen(plan)
    def write(self):
        text = speaker(LONG).kickoff("write").raw
        if self.state:
            return text
        return text


class SerializedState(BaseModel):
    text: str = ""

    @model_serializer
    def dump(self):
        return {"text": self.text}


class Storing(Flow[SerializedState]):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        text = speaker(LONG).kickoff("write").raw
        self.state.text = text
        return text


class StateWithFields(BaseModel):
    text: str = ""

    @computed_field
    @property
    def size(self) -> int:
        return len(self.text)


class Printing(Flow[StateWithFields]):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        text = speaker(LONG).kickoff("write").raw
        self.state.text = text
        print(self.state)  # noqa: T201
        return text


class Unpacking(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        given = [f'{{"line": "{LONG}"}}', None, None, None, None, None, Line]
        return Scripted(given[0], stream=True).call(*given)


class Starting(Flow):
    """Starts a method again, or first, behind the one that calls the model."""

    plan = start()(plan)

    @listen(plan)
    def write(self):
        return speaker(LONG).kickoff("write").raw

    @start("write")
    def check(self):
        return self.method_outputs[-1]


def kickoff(self, inputs):
    """Kick off a crew from outside of its class, and change its answer."""
    result = self.kickoff(inputs=inputs)
    result.raw = result.raw.upper()
    return result


class ByFunctionOfCrew(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        desk = SimpleNamespace(kickoff=functools.partial(kickoff, make(LONG)))
        return desk.kickoff({"topic": "cats"}).raw


class Asking(Flow):
    """Asks again, by itself, if its first draft has no comma."""

    plan = start()(plan)

    @listen(plan)
    def write(self):
        if not self.state.get("is_again"):
            self.state["is_again"] = True
            self.state["has_comma"] = "," in self.write()
        return speaker(LONG if "has_comma" in self.state else LONG.lower()).kickoff("write").raw


class AgentWithCall(Agent):
    def call(self, text):
        result = self.kickoff(text)
        result.raw = result.raw.upper()
        return result


class ByAgentWithCall(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        model = Scripted(LONG, stream=True)
        return AgentWithCall(role="Writer", goal="Write", backstory="None", llm=model).call("x").raw


class ModelWithKickoff(Scripted):
    def kickoff(self, text):
        return self.call(text).upper()


class ByModelWithKickoff(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        return ModelWithKickoff(LONG, stream=True).kickoff("write")


class Drafting(Flow):
    @start()
    def write(self):
        return speaker("A secret draft, which is long enough.").kickoff("draft").raw

    @listen(write)
    def improve(self):
        return LONG


class ByDrafting(Flow):
    """Runs another flow, of which a method has the same name."""

    suppress_flow_events: bool = True

    @start()
    def write(self):
        return Drafting().kickoff()


@pytest.mark.parametrize(
    "flow",
    [
        Changed,
        Twice,
        Again,
        Replaced,
        Guarded,
        ByCrewInThread,
        ByDeskInThread,
        ReadingProperty,
        Awaiting,
        Formatting,
        Passing,
        Decorating,
        Shadowing,
        Formatted,
        SettingProperty,
        StateOfItsOwn,
        Wrapped,
        WrappedLater,
        SeveralFirst,
        ByBoundMethod,
        Numbering,
        LocalPrint,
        outer_print(plan),
        SettingItem,
        TestingState,
        Unpacking,
        Starting,
        ByFunctionOfCrew,
        Storing,
        Printing,
        Asking,
        ByAgentWithCall,
        ByModelWithKickoff,
        ByDrafting,
    ],
)
async def test_a_flow_that_may_change_the_text_is_not_streamed(flow):
    events = await ask(adapt(flow), "cats")
    assert not streamed(events)
    assert "secret" not in str(events)
    assert LONG.lower() in answer(events).lower()


class Interrupted(Scripted):
    """Is called for a draft, in another thread, while it speaks."""

    def _emit_stream_chunk_event(self, **fields):
        super()._emit_stream_chunk_event(**fields)
        if len(self.seen) == 1:
            context = contextvars.copy_context()
            draft = threading.Thread(target=context.run, args=(self.call, "draft"))
            draft.start()
            draft.join()


class ByInterrupted(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        return Interrupted(LONG, "A secret draft, which is long enough.", stream=True).call("x")


async def test_a_call_beside_the_one_that_answers_is_not_streamed():
    events = await ask(adapt(ByInterrupted), "cats")
    assert answered(events) == LONG
    assert "secret" not in str(events)


class Both(Flow):
    """Has two concurrent methods that answer."""

    @start()
    async def one(self):
        return await speaker(LONG).kickoff_async("one")

    @start()
    async def two(self):
        return await speaker(LONG).kickoff_async("two")


async def test_concurrent_methods_do_not_mix():
    assert answer(await ask(adapt(Both), "cats")) == LONG


async def test_streams_of_callers_are_isolated():
    def repeat(prompt):
        return f"You said {prompt.rpartition('Current Task: ')[2].splitlines()[0]}, I am sure."

    served = adapt(speaker(repeat))
    runs = await asyncio.gather(*(ask(served, f"text {n}") for n in range(8)))
    assert [answer(events) for events in runs] == [
        f"You said text {n}, I am sure." for n in range(8)
    ]
