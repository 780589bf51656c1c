"""Sixteen callers at once: each gets its own answer and its own events."""

from __future__ import annotations

import asyncio
import functools
import threading

import pytest
from a2a.types import TaskState
from a2a_adapters_crewai import CrewAdapter, Options, adapt
from crewai import Crew, Flow
from crewai.flow import start
from crewai.project import CrewBase, agent, crew, task
from crewai.tools import BaseTool

from a2a_adapters import (
    Progress,
    ServerOptions,
    TargetError,
    TaskMetadata,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.plugin import PROGRESS_EXTENSION
from a2a_adapters.testing import answer_of, connect, running, send, stream, user_message
from tests.plugins.crewai import support
from tests.plugins.crewai.support import Scripted, answer, ask, observed, only, tool_call, value_of

TOPICS = [f"topic {n}" for n in range(16)]


class Shout(BaseTool):
    name: str = "shout"
    description: str = "Say it louder."

    def _run(self, text: str) -> str:
        return text.upper()


def make_crew() -> Crew:
    """Make a crew whose agent calls a tool with the topic, and answers with the result."""

    def follow(prompt):
        if results := observed(prompt):
            return f"Final Answer: {results[-1]}"
        topic = value_of("topic")(prompt).removeprefix("Final Answer: ")
        return tool_call("shout", f'{{"text": "{topic}"}}')

    writer = support.agent(Scripted(follow), tools=[Shout()])
    return Crew(agents=[writer], tasks=[support.task(writer, name="shouting")])


@CrewBase
class Base:
    """Caches the results of its methods, so that all crews of one object share their parts."""

    agents_config: dict = {}  # noqa: RUF012
    tasks_config: dict = {}  # noqa: RUF012

    @agent
    def writer(self):
        return support.agent(Scripted(value_of("topic")))

    @task
    def write(self):
        return support.task(self.writer())

    @crew
    def crew(self) -> Crew:
        return Crew(agents=self.agents, tasks=self.tasks)


def remembering() -> Crew:
    return Base().crew()


@functools.cache
def shared_agent():
    return support.agent(Scripted(value_of("topic")))


def with_a_shared_agent() -> Crew:
    return Crew(agents=[shared_agent()], tasks=[support.task(shared_agent())])


@pytest.mark.parametrize(
    "make",
    [
        support.crew,
        lambda: Base,
        lambda: remembering,
        lambda: with_a_shared_agent,
    ],
    ids=["crew", "class", "remembering", "shared agent"],
)
async def test_many_callers_of_one_target(make):
    adapter = adapt(make())
    for _ in range(2):
        answers = await asyncio.gather(*(ask(adapter, topic) for topic in TOPICS))
        assert [answer(events) for events in answers] == TOPICS


async def test_each_run_reports_its_own_events_and_usage():
    adapter = adapt(make_crew())
    runs = await asyncio.gather(*(ask(adapter, topic, wants_progress=True) for topic in TOPICS))
    for topic, events in zip(TOPICS, runs, strict=True):
        call, result = only(events, ToolCall), only(events, ToolResult)
        assert (call.name, call.arguments) == ("shout", {"text": topic})
        assert result == ToolResult(call.id, "shout", topic.upper())
        assert answer(events) == topic.upper()
        assert [e.text for e in events if isinstance(e, Progress)] == [
            "started: shouting",
            "working: Writer",
            "finished: shouting",
        ]
        usage = {"input_tokens": 6, "output_tokens": 8, "total_tokens": 14}
        assert only(events, TaskMetadata) == TaskMetadata({"usage": usage})


@pytest.mark.parametrize("is_streaming", [False, True])
async def test_many_callers_over_the_wire(is_streaming, any_storage):
    options = ServerOptions(storage=any_storage)
    async with (
        running(build_app(make_crew(), options=options)) as url,
        connect(url, extensions=(PROGRESS_EXTENSION,)) as client,
    ):
        if is_streaming:
            streams = await asyncio.gather(*(stream(client, user_message(t)) for t in TOPICS))
            for topic, events in zip(TOPICS, streams, strict=True):
                others = [other for other in TOPICS if other not in topic]
                text = str(events)
                assert topic.upper() in text
                assert not [other for other in others if f'"{other}"' in text]
        else:
            tasks = await asyncio.gather(*(send(client, user_message(t)) for t in TOPICS))
            assert [answer_of(task) for task in tasks] == [topic.upper() for topic in TOPICS]
            assert {t.status.state for t in tasks} == {TaskState.TASK_STATE_COMPLETED}


async def test_concurrent_runs_are_limited():
    three, lock = threading.Barrier(3, timeout=60), threading.Lock()
    working, most = 0, 0

    def work(prompt):
        nonlocal working, most
        with lock:
            working += 1
            most = max(most, working)
        three.wait()
        with lock:
            working -= 1
        return value_of("topic")(prompt)

    adapter = CrewAdapter(support.crew(work), Options(max_runs=3))
    answers = await asyncio.gather(*(ask(adapter, topic) for topic in TOPICS[:15]))
    assert [answer(events) for events in answers] == TOPICS[:15]
    assert most == 3


async def test_a_blocking_guardrail_does_not_stop_the_server():
    entered, leave = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def guard(output):
        loop.call_soon_threadsafe(entered.set)
        leave.wait(60)
        return True, output

    run = asyncio.create_task(ask(adapt(support.crew(guardrail=guard)), "cats"))
    await entered.wait()
    leave.set()
    assert answer(await run) == "cats"


async def test_a_run_that_waits_for_its_slot_outlives_the_loop_of_the_others():
    called, gate = threading.Event(), threading.Event()

    def work(prompt):
        called.set()
        gate.wait(60)
        return value_of("topic")(prompt)

    adapter = CrewAdapter(support.crew(work), Options(max_runs=1))
    first = asyncio.create_task(ask(adapter, "one"))
    assert await asyncio.to_thread(called.wait, 60)
    second = asyncio.create_task(ask(adapter, "two"))
    await asyncio.sleep(0)
    await adapter.aclose()
    with pytest.raises(RuntimeError, match="cancelled"):
        await first
    gate.set()
    assert answer(await second) == "two"
    await adapter.aclose()


async def test_a_crew_that_methods_share_works_for_one_caller_at_a_time():
    gate, calling = threading.Event(), threading.Event()
    model = Scripted(value_of("topic"), gate=gate, calling=calling)
    writer = support.agent(model)
    shared = Crew(agents=[writer], tasks=[support.task(writer), support.task(writer)])

    class Sharing(Flow):
        suppress_flow_events: bool = True
        message: str = ""

        @start()
        def write(self):
            return shared.kickoff(inputs={"topic": self.state["message"]}).raw

    adapter = adapt(Sharing)
    first = asyncio.create_task(ask(adapter, "cats"))
    assert await asyncio.to_thread(calling.wait, 60)
    with pytest.raises(TargetError, match="working for another caller"):
        await ask(adapter, "dogs")
    gate.set()
    assert answer(await first) == "cats"
    assert answer(await ask(adapter, "dogs")) == "dogs"


async def test_a_cancelled_run_keeps_the_crew_that_it_works_with():
    gate, checking = threading.Event(), threading.Event()

    def check(output):
        checking.set()
        return gate.wait(60), output.raw

    writer = support.agent(Scripted(value_of("topic")))
    shared = Crew(agents=[writer], tasks=[support.task(writer, guardrail=check)])
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Sharing(Flow):
        suppress_flow_events: bool = True
        message: str = ""

        @start()
        def write(self):
            try:
                return shared.kickoff(inputs={"topic": self.state["message"]}).raw
            finally:
                loop.call_soon_threadsafe(ended.set)

    adapter = adapt(Sharing)
    first = asyncio.create_task(ask(adapter, "cats"))
    assert await asyncio.to_thread(checking.wait, 60)
    first.cancel()
    await asyncio.wait([first])
    with pytest.raises(TargetError, match="working for another caller"):
        await ask(adapter, "dogs")
    ended.clear()
    gate.set()
    await ended.wait()
    assert answer(await ask(adapter, "dogs")) == "dogs"
