from __future__ import annotations

from contextlib import ExitStack

import pytest
from a2a_adapters_crewai import adapt
from crewai import Crew
from crewai.flow.flow import Flow, start
from crewai.hooks import HookAborted, InterceptionPoint, register_hook, unregister_hook
from crewai.tools import BaseTool
from pydantic import BaseModel

from a2a_adapters import BlockedError, Output, Progress, TaskMetadata, ToolCall, ToolResult
from a2a_adapters.plugin import AnswerText
from tests.plugins.crewai.support import (
    Scripted,
    agent,
    answer,
    ask,
    crew,
    only,
    request,
    task,
    tool_call,
)


class Book(BaseModel):
    title: str
    pages: int


BOOK = '{"title": "Moby", "pages": 3}'


class Broken(BaseTool):
    name: str = "broken"
    description: str = "Fail."

    def _run(self) -> str:
        raise RuntimeError("secret detail")


async def test_the_answer_is_sent_once():
    events = await ask(adapt(crew("Thought: I know\nFinal Answer: cats purr")), "cats")
    assert events == [
        AnswerText("cats purr"),
        TaskMetadata({"usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}}),
    ]


THINKING = "<think>Final Answer: no</think>\ncats purr"


class Thinking(Flow):
    @start()
    def think(self):
        return THINKING


@pytest.mark.parametrize(
    "make", [lambda: agent(Scripted("<think>hm</think>\ncats purr")), Thinking]
)
async def test_reasoning_is_not_part_of_the_answer(make):
    assert answer(await ask(adapt(make()), "cats")) == "cats purr"


async def test_reasoning_alone_is_an_empty_answer():
    assert answer(await ask(adapt(crew("<think>hm</think>")), "cats")) == ""


@pytest.mark.parametrize("field", ["output_pydantic", "output_json"])
async def test_structured_output_comes_with_its_schema(field):
    events = await ask(adapt(crew(BOOK, **{field: Book})), "cats")
    (part,) = only(events, Output).parts
    value = part.value.model_dump() if isinstance(part.value, Book) else part.value
    assert value == {"title": "Moby", "pages": 3}
    assert part.schema == Book.model_json_schema()


def two_tasks():
    first = agent(Scripted("Final Answer: facts"), role="Researcher", goal="Find facts.")
    second = agent(Scripted("Final Answer: text"))
    tasks = [task(first, name="research"), task(second, context=[])]
    tasks[1].context = [tasks[0]]
    return Crew(agents=[first, second], tasks=tasks)


async def test_task_outputs_are_sent_on_request():
    assert answer(await ask(adapt(two_tasks()), "cats")) == "text"
    events = await ask(adapt(two_tasks(), task_outputs=True), "cats")
    outputs = [event for event in events if isinstance(event, Output)]
    assert [(o.name, o.parts[0].text) for o in outputs] == [("research", "facts")]
    assert answer(events) == "facts\ntext"


def mask(result):
    """Replace the outputs of all tasks, after a kickoff."""
    result.tasks_output = [
        each.model_copy(update={"raw": "masked"}) for each in result.tasks_output
    ]
    return result


def abort(_):
    raise HookAborted("blocked")


def watched(callback):
    target = two_tasks()
    target.after_kickoff_callbacks = [callback]
    return target


async def test_task_outputs_are_those_that_callbacks_of_the_crew_leave():
    events = await ask(adapt(watched(mask), task_outputs=True), "cats")
    outputs = [event for event in events if isinstance(event, Output)]
    assert [(o.name, o.parts[0].text) for o in outputs] == [("research", "masked")]
    assert answer(events) == "masked\ntext"


async def test_no_task_outputs_are_sent_if_a_callback_of_the_crew_blocks_them():
    events = adapt(watched(abort), task_outputs=True).stream(request("cats"))
    with pytest.raises(BlockedError):
        assert not isinstance(await anext(events), Output)


class MaskingCrew(Crew):
    def kickoff(self, *args, **kwargs):
        return mask(super().kickoff(*args, **kwargs))


class ByWatched(Flow):
    @start()
    def write(self):
        return watched(mask).kickoff(inputs={"topic": "x"}).raw


class ByMaskingCrew(Flow):
    @start()
    def write(self):
        made = two_tasks()
        return MaskingCrew(agents=made.agents, tasks=made.tasks).kickoff(inputs={"topic": "x"}).raw


@pytest.mark.parametrize("flow", [ByWatched, ByMaskingCrew])
async def test_flows_send_no_task_outputs_that_their_crews_may_change(flow):
    assert answer(await ask(adapt(flow, task_outputs=True), "cats")) == "text"


async def test_steps_are_reported_as_progress():
    events = await ask(adapt(two_tasks()), "cats", wants_progress=True)
    assert [event for event in events if isinstance(event, Progress)] == [
        Progress("started: research", {"task": "research", "agent": "Researcher"}),
        Progress("working: Researcher", {"agent": "Researcher"}),
        Progress("finished: research", {"task": "research", "agent": "Researcher"}),
        Progress("started: Writer", {"task": None, "agent": "Writer"}),
        Progress("working: Writer", {"agent": "Writer"}),
        Progress("finished: Writer", {"task": None, "agent": "Writer"}),
    ]


async def test_a_failed_tool_is_reported_without_its_error():
    writer = agent(Scripted(tool_call("broken", "{}"), "Final Answer: gave up"), tools=[Broken()])
    target = Crew(agents=[writer], tasks=[task(writer)])
    events = await ask(adapt(target), "cats", wants_progress=True)
    calls = [event for event in events if isinstance(event, ToolCall)]
    results = [event for event in events if isinstance(event, ToolResult)]
    assert {call.name for call in calls} == {"broken"}
    assert {result.is_error for result in results} == {True}
    assert {result.id for result in results} <= {call.id for call in calls}
    assert "secret detail" not in str(events)


async def test_tokens_are_reported_only_on_request():
    target = crew("Thought: hmm\nFinal Answer: cats purr")
    silent = await ask(adapt(target), "cats", wants_progress=True)
    assert "hmm" not in str(silent)
    received = await ask(adapt(target, tokens=True), "cats", wants_progress=True)
    tokens = [e.data["token"] for e in received if isinstance(e, Progress) and "token" in e.data]
    assert "".join(tokens) == "Thought: hmm\nFinal Answer: cats purr "
    assert answer(received) == "cats purr"


@pytest.fixture
def hooks():
    """Register hooks for the time of a test."""
    with ExitStack() as stack:

        def register(point, hook):
            register_hook(point, hook)
            stack.callback(unregister_hook, point, hook)

        yield register


async def test_progress_and_task_outputs_hold_no_text_that_is_still_checked(hooks):
    class Say(BaseTool):
        name: str = "say"
        description: str = "Say it."

        def _run(self, text: str) -> str:
            return "a secret result"

    def make():
        writer = agent(
            Scripted(tool_call("say", '{"text": "a secret"}'), "a secret"), tools=[Say()]
        )
        return Crew(agents=[writer], tasks=[task(writer), task(writer)])

    hooks(InterceptionPoint.PRE_TOOL_CALL, lambda _: None)
    hooks(InterceptionPoint.POST_TOOL_CALL, lambda _: "checked")
    events = await ask(adapt(make()), "cats", wants_progress=True)
    assert [e.arguments for e in events if isinstance(e, ToolCall)] == [None]
    assert [e.result for e in events if isinstance(e, ToolResult)] == [None]

    hooks(InterceptionPoint.POST_MODEL_CALL, lambda _: "checked")
    hooks(InterceptionPoint.OUTPUT, lambda _: None)
    served = adapt(make(), tokens=True, task_outputs=True)
    events = await ask(served, "cats", wants_progress=True)
    assert "secret" not in str(events)
    assert answer(events) == "checked"


async def test_tokens_are_not_reported_if_a_guardrail_may_refuse_them():
    writer = agent(Scripted("a secret"))
    target = Crew(agents=[writer], tasks=[task(writer, guardrail=lambda _: (True, "checked"))])
    events = await ask(adapt(target, tokens=True), "cats", wants_progress=True)
    assert "secret" not in str(events)
    assert answer(events) == "checked"


async def test_thoughts_and_prompts_are_not_sent():
    events = await ask(adapt(crew("Thought: hmm\nFinal Answer: ok")), "cats", wants_progress=True)
    for secret in ("hmm", "A secret past", "topic=<"):
        assert secret not in str(events)
