"""A remote agent as a tool of local agents."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_crewai import A2ATool, A2AToolkit, adapt
from crewai import Crew
from crewai.flow.flow_context import current_flow_id

from a2a_adapters import AgentRequest, RemoteAgent
from a2a_adapters.plugin import AgentDescription, remote_tool
from a2a_adapters.protocol.card import build_card
from tests.calling.slow_agents import slow_agent
from tests.plugins.crewai.calling import desk
from tests.plugins.crewai.support import Scripted, agent, answer, ask, observed, task, tool_call

GONE = {"url": "http://127.0.0.1:9", "retries": 0}
ABOUT = AgentDescription(name="nobody", description="nobody")


def book_a_trip(prompt):
    """Ask for a booking, answer the agent's question, and repeat the result."""
    results = observed(prompt)
    topic = prompt.split("topic=<")[1].split(">")[0]
    match len(results):
        case 0:
            return tool_call("Travel_desk", '{"message": "book"}')
        case 1:
            return tool_call("Travel_desk", f'{{"message": "{topic}"}}')
    return f"Final Answer: {results[-1]}"


def crew_with(tool, *script):
    writer = agent(Scripted(*script), tools=[tool])
    return Crew(agents=[writer], tasks=[task(writer)])


async def from_url(remote):
    return await asyncio.to_thread(A2ATool.from_url, remote, wait=600)


@pytest.mark.parametrize("create", [from_url, A2ATool.afrom_agent])
async def test_it_is_named_and_described_by_the_card(create):
    async with desk() as (_, remote):
        tool = await create(remote)
    assert tool.name == "Travel_desk"
    assert "Books trips." in tool.description
    assert list(tool.args_schema.model_json_schema()["properties"]) == ["message"]


async def test_a_tool_for_each_skill():
    async with desk() as (there, remote):
        about = await remote.describe()
        assert len(about.skills) == 1
        (tool,) = await A2ATool.aper_skill(remote)
        (same,) = await asyncio.to_thread(A2ATool.per_skill, remote)
        assert tool.name == same.name
        await asyncio.to_thread(tool.run, message="hello")
    assert there.received[0].metadata["skill_id"] == about.skills[0].id


@pytest.mark.parametrize("how", ["kickoff", "akickoff"])
async def test_a_question_is_answered_on_the_same_task(how):
    async with desk() as (there, remote):
        crew = crew_with(await from_url(remote), book_a_trip)
        if how == "kickoff":
            result = await asyncio.to_thread(crew.kickoff, {"topic": "Rome"})
        else:
            result = await crew.akickoff({"topic": "Rome"})
    assert result.raw == "Booked Rome."
    assert there.texts == ["book"]


async def test_each_run_of_a_tool_has_its_own_conversation():
    async with desk() as (there, remote):
        adapter = adapt(crew_with(await from_url(remote), book_a_trip))
        cities = [f"city {n}" for n in range(8)]
        runs = await asyncio.gather(*(ask(adapter, city) for city in cities))
        await adapter.aclose()
    assert [answer(events) for events in runs] == [f"Booked {city}." for city in cities]
    assert len({received.context_id for received in there.received}) == 8


async def test_an_agent_outside_of_crews_answers_a_question():
    async with desk() as (_, remote):
        lone = agent(Scripted(book_a_trip), tools=[await from_url(remote)])
        result = await lone.akickoff("topic=<Rome>")
    assert result.raw == "Booked Rome."


async def test_outside_of_runs_each_call_is_a_new_conversation():
    async with desk() as (there, remote):
        tool = await from_url(remote)
        asked = await asyncio.to_thread(tool.run, message="book")
        assert asked.endswith("with the whole request, this included.)")
        assert (await tool.arun(message="hello")).startswith("heard hello")
    assert len({received.context_id for received in there.received}) == 2


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("hello", ["heard hello"]),
        ("data", ['"title":"Moby"']),
        ("file", ["here", "(A file: map.png)"]),
        ("fail", ["The agent did not do it", "Try something else"]),
    ],
)
async def test_results_for_the_model(message, expected):
    async with desk() as (there, remote):
        tool = await from_url(remote)
        results = [await asyncio.to_thread(tool.run, message=message)]
        results.append(await tool.arun(message=message))
    for result in results:
        assert all(text in result for text in expected)
        assert "hunter2" not in result
    assert len(there.received) == 2


async def test_the_same_question_is_asked_again():
    def ask_twice(prompt):
        if len(observed(prompt)) < 3:
            return tool_call("Travel_desk", f'{{"message": "hello{len(observed(prompt)) % 2}"}}')
        return "Final Answer: done"

    async with desk() as (there, remote):
        await crew_with(await from_url(remote), ask_twice).akickoff({"topic": "x"})
    assert there.texts == ["hello0", "hello1", "hello0"]


async def test_an_unreachable_agent_is_reported_to_the_model():
    nobody = RemoteAgent(build_card(ABOUT, "http://127.0.0.1:9"))
    tool = A2ATool(agent=nobody, name="nobody", description="Nobody.")
    expected = await asyncio.to_thread(tool.run, message="hello")
    assert "The agent did not do it: the agent cannot be reached" in expected


async def test_the_hook_creates_one():
    async with desk() as (_, remote):
        tool = await asyncio.to_thread(remote_tool, remote, "crewai")
    assert isinstance(tool, A2ATool)


async def test_requests_contain_only_the_message():
    async with desk() as (there, remote):
        tool = await from_url(remote)
        await asyncio.to_thread(tool.run, message="hello")
    (received,) = there.received
    assert isinstance(received, AgentRequest)
    assert dict(received.metadata) == {}


async def test_each_agent_is_a_tool():
    async with desk() as (there, remote):
        kit = A2AToolkit({"one": remote, "gone": GONE, "two": {"url": remote.name, "wait": 60}})
        tools = await kit.aget_tools()
        assert [tool.name for tool in tools] == ["one", "two"]
        assert [tool.wait for tool in tools] == [None, 60]
        assert [tool.name for tool in await asyncio.to_thread(kit.get_tools)] == ["one", "two"]
        await asyncio.to_thread(tools[1].run, message="hello")
    assert there.received[0].text == "hello"


@pytest.fixture
def in_a_flow():
    token = current_flow_id.set("flow-1")
    yield
    current_flow_id.reset(token)


def impatient(agent):
    return A2ATool(agent=agent, name="slow", description="Slow.", wait=0.05)


async def test_the_next_call_in_the_flow_waits_for_the_rest(in_a_flow):
    async with slow_agent("ours") as (card, gate), RemoteAgent(card) as agent:
        tool = impatient(agent)
        said = await asyncio.to_thread(tool.run, message="ping")
        assert "still working" in said
        gate.open()
        while "still working" in said:
            said = await asyncio.to_thread(tool.run, message="go on")
        assert said == "pong"


async def test_elsewhere_an_unfinished_task_is_cancelled():
    async with slow_agent("ours") as (card, _), RemoteAgent(card) as agent:
        said = await asyncio.to_thread(impatient(agent).run, message="ping")
        assert "no complete answer within 0.05 s" in said
        assert [task.state async for task in agent.tasks()] == ["canceled"]
