"""Graphs and swarms that a function makes for every run."""

from __future__ import annotations

import pytest
from a2a_adapters_strands import TeamAdapter
from pydantic import BaseModel
from strands import Agent, ToolContext, tool
from strands.multiagent import GraphBuilder, Swarm

from a2a_adapters import (
    Data,
    InputRequired,
    Output,
    Progress,
    Rejected,
    TargetError,
    TaskMetadata,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.plugin import Factory
from a2a_adapters.testing import (
    InputRequiredContract,
    OnSqlite,
    answer_of,
    connect,
    running,
    send,
    user_message,
)
from tests.plugins.sql.conftest import new_url
from tests.plugins.strands import support
from tests.plugins.strands.support import Fake, agent, calling, made, results, said, team
from tests.support.adapters import answer, ask, data, deltas, only, reply
from tests.support.agents import contracts
from tests.support.agents.isolation import check_asking


def adapt(make):
    return TeamAdapter(Factory(make, make()))


class TestGraphs(contracts.Agents):
    support = support

    def made(self, answer, **options):
        # An agent of a graph hears a description of the task.
        return lambda: team(made(Fake(lambda m: answer([_last(said(m)[-1])]), **options)))


class TestSwarms(contracts.Agents):
    support = support

    def made(self, answer, **options):
        # A swarm adds a description of the team to the message.
        def heard(messages):
            text = said(messages)[-1]
            return answer([_last(text.partition("User Request: ")[2].partition("\n")[0] or text)])

        return lambda: Swarm([made(Fake(heard, **options))])


def _last(dialogue):
    """Return the last message of a dialogue."""
    return {"role": "user", "content": [{"text": dialogue.rpartition("User: ")[2]}]}


class Weather(BaseModel):
    city: str


@tool(context=True)
def ask_city(tool_context: ToolContext) -> str:
    """Ask for a city."""
    return f"to {tool_context.interrupt('city', 'which city?')}"


def asking():
    model = Fake(lambda messages: results(messages).get("c1") or calling("ask_city"))
    return team(made(model, tools=[ask_city]))


class TestAsking(InputRequiredContract):
    def asking(self):
        return asking


class TestAskingOnSqlite(OnSqlite, TestAsking):
    pass


async def test_a_graph_answers_with_its_last_agents_token_by_token():
    def make():
        return team(agent("a draft", name="writer"), agent("the end", name="editor"))

    events = await ask(adapt(make), "hi", wants_progress=True)
    assert deltas(events) == ["the", " end"]
    steps = [event.text for event in events if isinstance(event, Progress)]
    assert steps == ["writer", "editor"]
    assert only(events, TaskMetadata).values["usage"]["total_tokens"] == 10


async def test_a_swarm_answers_with_all_its_agents():
    def make():
        hand_over = calling("handoff_to_agent", agent_name="desk", message="go")
        host = agent(hand_over, "Over to the desk.", name="host")
        return Swarm([host, agent("Booked.", name="desk")])

    events = await ask(adapt(make), "hi", wants_progress=True)
    assert answer(events) == "Over to the desk.\n\nBooked."
    assert only(events, ToolCall).name == "handoff_to_agent"
    assert not only(events, ToolResult).is_error


async def test_a_swarm_that_reaches_a_limit_rejects_the_task():
    def make():
        go = [calling("handoff_to_agent", agent_name=name, message="go") for name in "ab"]
        return Swarm([agent(go[1], "x", name="a"), agent(go[0], "y", name="b")], max_handoffs=1)

    events = await ask(adapt(make), "hi")
    assert "limit" in only(events, Rejected).reason


async def test_teams_hear_the_conversation():
    model = Fake(lambda messages: "fine")
    async with running(build_app(lambda: team(made(model)))) as url, connect(url) as caller:
        await send(caller, user_message("first", context_id="one"))
        await send(caller, user_message("second", context_id="one"))
        await send(caller, user_message("other", context_id="two"))
    assert ["first" in str(heard) for heard in model.heard] == [True, True, False]


async def test_tools_find_the_caller():
    @tool(context=True)
    def me(tool_context: ToolContext) -> str:
        """Name the caller."""
        return tool_context.invocation_state["a2a"].owner

    model = Fake(lambda messages: results(messages).get("c1") or calling("me"))
    events = await ask(adapt(lambda: team(made(model, tools=[me]))), "hi", owner="ann")
    assert answer(events) == "ann"


async def test_interrupts_of_parallel_agents_are_asked_at_once():
    def make():
        builder = GraphBuilder()
        builder.set_max_node_executions(10)
        for name in ("a", "b"):
            model = Fake(lambda m, n=name: results(m).get(n) or calling("ask_city", n))
            member = Agent(model=model, name=name, tools=[ask_city], callback_handler=None)
            builder.add_node(member, name)
            builder.set_entry_point(name)
        return builder.build()

    adapter = adapt(make)
    events = await ask(adapter, "go")
    assert only(events, InputRequired).prompt.count("which city?") == 2
    first, second = data(events)[-1]["response_schema"]["properties"]
    events = await reply(adapter, Data({first: "Rome", second: "Oslo"}))
    assert sorted(answer(events).split("\n\n")) == ["to Oslo", "to Rome"]


async def test_agents_beside_one_that_asks_answer_with_data_once():
    def make():
        builder = GraphBuilder()
        builder.set_max_node_executions(10)
        asking = made(Fake(lambda m: results(m).get("c1") or calling("ask_city")), tools=[ask_city])
        weather = calling("Weather", city="Rome")
        for name, member in {
            "first": agent("go", name="first"),
            "asking": asking,
            "data": agent(weather, name="data", structured_output_model=Weather),
        }.items():
            builder.add_node(member, name)
        builder.add_edge("first", "asking")
        builder.add_edge("first", "data")
        return builder.build()

    adapter = adapt(make)
    events = await ask(adapter, "go")
    assert only(events, Output).parts[0].value == Weather(city="Rome")
    events = await reply(adapter, "Oslo")
    assert answer(events) == "to Oslo"
    assert not [event for event in events if isinstance(event, Output)]


async def test_a_function_may_be_async():
    async def make():
        return team(agent("hello", name="greeter"))

    async with (
        running(build_app(TeamAdapter(Factory(make, await make())))) as url,
        connect(url) as caller,
    ):
        assert answer_of(await send(caller, user_message("hi"))) == "hello"


def test_one_team_for_all_is_refused():
    for target in (asking(), Swarm([agent("x")])):
        with pytest.raises(TargetError, match="serve a function that returns"):
            build_app(target)
    with pytest.raises(TargetError, match="str"):
        TeamAdapter(Factory(lambda: "x", "x"))


def test_the_card_has_the_agents():
    about = adapt(lambda: team(agent("x", name="desk", description="Books."))).describe()
    assert [(skill.id, skill.description) for skill in about.skills] == [("desk", "Books.")]


@pytest.mark.parametrize("engine", ["memory", "postgresql"])
async def test_callers_are_isolated(engine, tmp_path):
    await check_asking(new_url(engine, tmp_path), asking)
