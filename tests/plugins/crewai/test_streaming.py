"""Answers are streamed once, without the thoughts of agents."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest
from a2a.types import GetTaskRequest, TaskState
from a2a_adapters_crewai import adapt
from crewai import Crew, Process
from crewai.flow import Flow, human_feedback, listen, router, start
from crewai.flow.persistence import SQLiteFlowPersistence
from crewai.hooks import register_after_llm_call_hook, unregister_after_llm_call_hook
from crewai.project import CrewBase
from crewai.project import agent as of_agents
from crewai.project import crew as of_crews
from crewai.project import task as of_tasks
from crewai.tools import BaseTool
from pydantic import BaseModel

from a2a_adapters import (
    ConfigurationError,
    Output,
    Progress,
    TargetError,
    TextDelta,
    build_app,
)
from a2a_adapters.plugin import AnswerText, as_text
from a2a_adapters.testing import answer_of, connect, running, send, stream, user_message
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


SECRET = "A secret draft, which is long enough to be heard."


def plan(_):
    return speaker(SECRET).kickoff("plan").raw


class ByCrew(Flow):
    plan = start()(plan)

    @listen(plan)
    def write(self):
        return make(LONG).kickoff(inputs={"topic": "cats"}).raw


class ByPress(Flow):
    plan = start()(plan)

    @listen(plan)
    async def write(self):
        return (await Press().crew().kickoff_async(inputs={"topic": "cats"})).raw


class ByAgent(Flow):
    plan = start()(plan)

    @listen(plan)
    async def write(self):
        return await speaker(LONG).kickoff_async("write")


class ByModel(Flow):
    plan = start()(plan)

    @router(plan)
    def way(self):
        return "prose" if speaker(SECRET).kickoff("?") else "verse"

    @listen("prose")
    def write(self):
        return Scripted(f"<think>a secret</think>{LONG}", stream=True).call("write")

    @listen("verse")
    def rhyme(self):
        return "never"


FLOWS = [ByCrew, ByPress, ByAgent, ByModel]


@pytest.mark.parametrize("flow", FLOWS)
async def test_a_flow_is_not_streamed_by_default(flow):
    events = await ask(adapt(flow), "cats", wants_progress=True)
    assert {"method": "write"} in [each.data for each in events if isinstance(each, Progress)]
    texts = [event for event in events if isinstance(event, TextDelta | AnswerText)]
    assert texts == [AnswerText(LONG)]
    assert "secret" not in str(events)


@pytest.mark.parametrize("flow", FLOWS)
async def test_the_named_methods_of_a_flow_are_streamed(flow):
    events = await ask(adapt(flow, stream_methods=["write"]), "cats")
    assert answered(events) == LONG
    assert "secret" not in str(events)


class Changed(Flow):
    @start()
    def write(self):
        return speaker(LONG).kickoff("write").raw.upper()


class Twice(Flow):
    @start()
    def write(self):
        draft = speaker(LONG).kickoff("draft").raw
        return speaker(SECRET).kickoff(draft).raw and LONG.upper()


class Judged(Flow):
    @start()
    def write(self):
        return speaker(LONG).kickoff("write").raw

    @listen(write)
    def judge(self, text):
        return speaker(SECRET).kickoff(text).raw and text.upper()


@pytest.mark.parametrize("flow", [Changed, Twice, Judged])
async def test_the_text_of_a_method_is_corrected_to_what_the_flow_returns(flow):
    events = await ask(adapt(flow, stream_methods=["write"]), "cats")
    assert LONG.startswith("".join(streamed(events)))
    assert len(streamed(events)) > 3
    assert answer(events) == LONG.upper()
    assert "secret" not in str(events)


class Formatted(Flow):
    @start()
    def write(self):
        text = Scripted(f'{{"line": "{LONG}"}}', stream=True).call("write", response_model=Line)
        return Line.model_validate_json(text)


async def test_the_text_of_a_method_is_withdrawn_if_the_flow_returns_data():
    events = await ask(adapt(Formatted, stream_methods=["write"]), "cats")
    assert events.index(AnswerText("")) < events.index(only(events, Output))


class Repeating(Flow):
    """Writes again if the first text has no comma."""

    @start("again")
    def write(self):
        is_again = bool(self.method_outputs)
        return speaker(LONG if is_again else "A draft, which is long enough.").kickoff("write").raw

    @router(write)
    def check(self, text):
        return "done" if text == LONG else "again"

    @listen("done")
    def finish(self):
        return LONG


class Improving(Flow):
    @start()
    def draft(self):
        return speaker("A draft, which is long enough.").kickoff("draft").raw

    @listen(draft)
    def write(self):
        return speaker(LONG).kickoff("write").raw


@pytest.mark.parametrize("flow", [Repeating, Improving])
async def test_the_text_of_a_method_is_withdrawn_when_another_one_speaks(flow):
    events = await ask(adapt(flow, stream_methods=[*flow.flow_definition().methods]), "cats")
    withdrawal = events.index(AnswerText(""))
    assert "".join(streamed(events[:withdrawal])).startswith("A draft")
    assert answered(events[withdrawal + 1 :]) == LONG


class Guarded(Flow):
    @start()
    def write(self):
        return make(LONG, guardrail=lambda output: (True, output.raw)).kickoff({"topic": "x"}).raw


_BOTH = asyncio.Barrier(2)


class Both(Flow):
    """Has two methods that run at once."""

    @start()
    async def write(self):
        await _BOTH.wait()
        return await speaker(LONG).kickoff_async("write")

    @start()
    async def rhyme(self):
        await _BOTH.wait()
        return await speaker(LONG).kickoff_async("rhyme")


class Drafting(Flow):
    @start()
    def write(self):
        return speaker(SECRET).kickoff("draft").raw


class ByDrafting(Flow):
    """Runs another flow, of which a method has the same name."""

    @start()
    def write(self):
        Drafting().kickoff()
        return LONG


@pytest.mark.parametrize("flow", [Guarded, Both, ByDrafting])
async def test_a_named_method_is_not_streamed_if_its_text_is_checked_or_not_alone(flow):
    events = await ask(adapt(flow, stream_methods=[*flow.flow_definition().methods]), "cats")
    assert not streamed(events)
    assert answer(events) == LONG
    assert "secret" not in str(events)


class Overridden(Flow):
    @start()
    def write(self):
        return speaker(LONG).kickoff("write").raw

    async def kickoff_async(self, *args, **kwargs):
        return (await super().kickoff_async(*args, **kwargs)).upper()


async def test_a_flow_that_overrides_a_method_of_crewai_is_held_back_by_the_server():
    adapter = adapt(Overridden, stream_methods=["write"])
    assert adapter.holds_text
    assert answer(await ask(adapter, "cats")) == LONG.upper()


class Asking(Flow):
    @start()
    def write(self):
        text = speaker(LONG).kickoff("write").raw
        return f"{text[:4]}, {self.ask('Is this right?')}"


class Reviewed(Flow):
    @start()
    @human_feedback("Is this right?")
    def write(self):
        return speaker(LONG).kickoff("write").raw

    @listen(write)
    def publish(self, review):
        return f"{review.output[:4]}, {review.feedback}"


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.parametrize("flow", [Asking, Reviewed])
async def test_the_text_of_a_method_is_withdrawn_before_a_question(flow, is_stored, tmp_path):
    store = SQLiteFlowPersistence(str(tmp_path / "flows.db")) if is_stored else None
    served = adapt(lambda: flow(persistence=store), stream_methods=["write"])
    async with running(build_app(served)) as url, connect(url) as client:
        asked = await send(client, user_message("cats"))
        assert (asked.status.state, answer_of(asked)) == (TaskState.TASK_STATE_INPUT_REQUIRED, "")
        done = await send(client, user_message("yes", task_id=asked.id))
    assert answer_of(done) == "Cats, yes"


class ByAskingModel(Flow):
    """Calls a model that asks in the middle of its stream, as its tools may."""

    @start()
    def write(self):
        asking = self.ask

        class AskingModel(Scripted):
            def _emit_stream_chunk_event(self, **fields):
                super()._emit_stream_chunk_event(**fields)
                if fields["chunk"] == "fed, ":
                    asking("Is this right?")

        return AskingModel(LONG, stream=True).call("write")


async def test_the_rest_of_a_text_is_not_streamed_after_a_question():
    async with aclosing(
        adapt(ByAskingModel, stream_methods=["write"]).stream(request("hi"))
    ) as run:
        assert streamed([await anext(run)])
        await question(run)
        after = [await run.asend(request("yes")), *[event async for event in run]]
    assert not streamed(after)
    assert answer(after) == LONG


@pytest.mark.parametrize(
    ("make_target", "problem"),
    [
        (lambda: ByModel, "the flow has no method rite; its methods are plan, way, write, rhyme"),
        (lambda: Changed(suppress_flow_events=True), "needs the events of methods, which suppress"),
        (lambda: make(LONG), "stream_methods is for flows; a crew has no methods"),
        (lambda: speaker(LONG), "stream_methods is for flows; an agent has no methods"),
    ],
)
def test_methods_that_cannot_be_streamed_are_refused(make_target, problem):
    name = "rite" if "rite" in problem else "write"
    with pytest.raises(TargetError, match=problem):
        adapt(make_target(), stream_methods=[name])


def test_methods_are_not_given_as_a_string():
    with pytest.raises(ConfigurationError, match=r"stream_methods must be .*, such as \['write'\]"):
        adapt(ByCrew, stream_methods="write")


async def test_streams_of_callers_are_isolated():
    def repeat(prompt):
        return f"You said {prompt.rpartition('Current Task: ')[2].splitlines()[0]}, I am sure."

    served = adapt(speaker(repeat))
    runs = await asyncio.gather(*(ask(served, f"text {n}") for n in range(8)))
    assert [answer(events) for events in runs] == [
        f"You said text {n}, I am sure." for n in range(8)
    ]
