"""Targets, and copies of crews and agents."""

from __future__ import annotations

import asyncio
import warnings
from functools import partial

import a2a_adapters_crewai
import pytest
from a2a.types import TaskState
from a2a_adapters_crewai import AgentAdapter, CrewAdapter, FlowAdapter, adapt
from a2a_adapters_crewai.serving.targets import copy_crew
from crewai import Agent, Crew, Flow, PlanningConfig, Process, Task
from crewai.flow import start
from crewai.flow.conversational import ConversationConfig
from crewai.tools import BaseTool
from pydantic import BaseModel

from a2a_adapters import NoAdapterError, TargetError, build_app, serve
from a2a_adapters.plugin import Factory, Plugins
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.crewai.support import (
    Scripted,
    agent,
    answer,
    ask,
    crew,
    observed,
    task,
    tool_call,
    value_of,
)


class Plain(Flow):
    @start()
    def go(self):
        return "gone"


def make_crew() -> Crew:
    return crew()


def make_agent() -> Agent:
    return agent(Scripted("Final Answer: x"))


def make_flow() -> Plain:
    return Plain()


def make_nothing():
    return object()


def make_only_a_checker_knows() -> Undefined:  # noqa: F821
    return object()


@pytest.fixture
def plugins():
    plugins = Plugins()
    plugins.register(a2a_adapters_crewai, "crewai")
    return plugins


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (crew, CrewAdapter),
        (lambda: make_crew, CrewAdapter),
        (make_agent, AgentAdapter),
        (lambda: make_agent, AgentAdapter),
        (Plain, FlowAdapter),
        (lambda: Plain, FlowAdapter),
        (lambda: make_flow, FlowAdapter),
        (lambda: lambda: crew(), CrewAdapter),  # noqa: PLW0108 - one without a name
        (lambda: partial(agent, Scripted("x")), AgentAdapter),
        (lambda: lambda: Plain, FlowAdapter),
    ],
)
def test_the_hook_accepts_objects_classes_and_functions(plugins, make, kind):
    assert isinstance(plugins.adapt(make()), kind)


@pytest.mark.parametrize(
    "target", [str.upper, object(), make_nothing, make_only_a_checker_knows, BaseModel, Crew]
)
def test_the_hook_declines_other_objects(plugins, target):
    with pytest.raises(NoAdapterError):
        plugins.adapt(target)


async def test_a_function_is_called_for_every_run(plugins):
    made = []

    def make():
        made.append(crew())
        return made[-1]

    adapter = plugins.adapt(make)
    before = len(made)
    assert [answer(await ask(adapter, topic)) for topic in ("cats", "dogs")] == ["cats", "dogs"]
    assert len(made) == before + 2


@pytest.mark.parametrize("has_options", [True, False])
@pytest.mark.parametrize("make", [make_crew, make_agent, make_flow])
async def test_a_function_may_be_async(make, has_options):
    made = []

    async def make_later():
        await asyncio.sleep(0)
        made.append(make())
        return made[-1]

    target = adapt(make_later) if has_options else make_later
    async with running(build_app(target)) as url, connect(url) as client:
        before = len(made)
        tasks = [await send(client, user_message("cats")) for _ in range(2)]
        assert {task.status.state for task in tasks} == {TaskState.TASK_STATE_COMPLETED}
        assert len(made) == before + 2


async def test_an_async_function_may_return_the_same_flow():
    flow = make_flow()

    async def make_later():
        return flow

    adapter = adapt(Factory(make_later, flow))
    runs = await asyncio.gather(*(ask(adapter, text) for text in ("cats", "dogs")))
    assert [answer(events) for events in runs] == [answer(await ask(adapt(Plain), "cats"))] * 2


def test_serve_crew_is_serve():
    assert a2a_adapters_crewai.serve_crew is serve


def test_adapt_accepts_functions_and_refuses_others():
    assert isinstance(adapt(lambda: crew()), CrewAdapter)  # noqa: PLW0108
    for target, complaint in (
        (make_nothing, r"make_nothing\(\) returned object"),
        (lambda needed: crew(), "cannot be called without arguments"),
        (3, "int is not a crew"),
    ):
        with pytest.raises(TargetError, match=complaint):
            adapt(target)


def test_each_adapter_refuses_other_kinds():
    for adapter, target in ((CrewAdapter, Plain), (FlowAdapter, crew()), (AgentAdapter, crew())):
        with pytest.raises(TargetError, match="is not a"):
            adapter(target)


class Talk(Flow):
    conversational = True


def test_a_conversational_flow_is_refused():
    with pytest.raises(TargetError, match="Talk is a conversational flow"):
        adapt(Talk)


async def test_a_conversational_flow_is_served_by_a_function():
    @ConversationConfig(system_prompt="Be kind.", llm=Scripted("Cats purr."))
    class Kind(Flow):
        suppress_flow_events: bool = True

    def talk(text: str):
        return Kind().handle_turn(text)

    async with running(build_app(talk)) as url, connect(url) as client:
        task = await send(client, user_message("hello"))
    assert answer_of(task) == "Cats purr."


async def test_a_crew_that_was_kicked_off_is_refused():
    used = crew()
    await used.akickoff(inputs={"topic": "cats"})
    with pytest.raises(TargetError, match="kicked off already"):
        adapt(used)
    failed = crew("")
    with pytest.raises(ValueError, match="Invalid response"):
        await failed.akickoff(inputs={"topic": "cats"})
    with pytest.raises(TargetError, match="kicked off already"):
        adapt(failed)


def managed_by_one_with_a_memory():
    """Return a crew whose manager is none of its agents."""
    manager = agent(Scripted("x"), memory=True, allow_delegation=True)
    only = Task(description="{topic}", expected_output="text")
    process = Process.hierarchical
    return Crew(agents=[agent(Scripted("x"))], tasks=[only], process=process, manager_agent=manager)


def test_the_memory_of_a_manager_is_refused():
    with pytest.raises(TargetError, match="memory"):
        adapt(managed_by_one_with_a_memory)


def test_a_memory_is_refused_unless_shared_memory_is_set():
    target = crew()
    target.memory = True
    with pytest.raises(TargetError, match="reveal the messages"):
        adapt(target)
    assert isinstance(adapt(target, shared_memory=True), CrewAdapter)
    writer = make_agent()
    writer.memory = True
    with pytest.raises(TargetError, match="reveal the messages"):
        adapt(writer)


def test_a_subclass_of_crew_is_refused():
    class Special(Crew):
        pass

    writer = agent(Scripted("x"))
    with pytest.raises(TargetError, match="Special is a subclass"):
        adapt(Special(agents=[writer], tasks=[task(writer)]))


def test_options_for_crews_are_refused_for_agents():
    with pytest.raises(TargetError, match="for crews and flows"):
        adapt(make_agent(), text_key="topic")


def test_a_copy_keeps_settings_that_crewai_drops():
    model, other = Scripted("x"), Scripted("y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = agent(
            model,
            goal="one",
            mcps=["https://example.com/mcp"],
            function_calling_llm=other,
            planning_config=PlanningConfig(llm=other),
        )
    two = agent(model, goal="two")
    tasks = [task(one, "same {topic}"), task(two, "same {topic}"), task(two)]
    tasks[2].context = tasks[:2]
    target = Crew(agents=[one, two], tasks=tasks, planning_llm=other)
    copy = copy_crew(target)
    assert [t.agent.goal for t in copy.tasks] == ["one", "two", "two"]
    assert [copy.tasks.index(t) for t in copy.tasks[2].context] == [0, 1]
    assert copy.agents[0].mcps == ["https://example.com/mcp"]
    assert vars(copy.agents[0])["function_calling_llm"] is other
    assert copy.agents[0].planning_config.llm is other
    assert copy.planning_llm is other
    originals = {id(part) for part in (*target.agents, *target.tasks)}
    assert not originals & {id(part) for part in (*copy.agents, *copy.tasks)}


class Note(BaseTool):
    name: str = "note"
    description: str = "Take a note."
    max_usage_count: int | None = 1

    def _run(self, text: str) -> str:
        return f"noted {text}"


async def test_each_run_counts_the_uses_of_a_tool_for_itself():
    def use(prompt):
        results = observed(prompt)
        return f"Final Answer: {results[0]}" if results else tool_call("note", '{"text": "x"}')

    writer = agent(Scripted(use), tools=[Note()])
    for target in (Crew(agents=[writer], tasks=[task(writer)]), writer):
        adapter = adapt(target)
        for _ in range(2):
            assert answer(await ask(adapter, "cats")) == "noted x"


def test_a_crew_that_crewai_cannot_copy_is_refused():
    one, apart = agent(Scripted("x")), agent(Scripted("x"), role="Apart")
    with pytest.raises(TargetError, match="Agent is missing"):
        adapt(Crew(agents=[one], tasks=[task(one), task(apart)]))


async def test_a_crew_with_planning():
    plan = '{"list_of_plans_per_task": [{"task_number": 1, "task": "t", "plan": "think twice"}]}'
    writer = agent(Scripted(lambda prompt: f"Final Answer: {prompt}"))
    target = Crew(
        agents=[writer],
        tasks=[task(writer)],
        planning=True,
        planning_llm=Scripted(f"Final Answer: {plan}"),
    )
    adapter = adapt(target)
    for topic in ("cats", "dogs"):
        text = answer(await ask(adapter, topic))
        assert f"topic=<{topic}>" in text
        assert "think twice" in text


async def test_a_hierarchical_crew():
    manager = agent(Scripted(value_of("topic")), role="Manager", allow_delegation=True)
    writer = agent(Scripted("Final Answer: never"))
    target = Crew(
        agents=[writer],
        tasks=[task(writer)],
        process=Process.hierarchical,
        manager_agent=manager,
    )
    adapter = adapt(target)
    assert [answer(await ask(adapter, topic)) for topic in ("cats", "dogs")] == ["cats", "dogs"]
