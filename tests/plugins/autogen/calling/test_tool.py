from __future__ import annotations

import asyncio
import json

import pytest
from a2a_adapters_autogen import A2ATool, A2AToolkit, adapt
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken
from autogen_core.tools import BaseTool

from a2a_adapters import RemoteAgent, RemoteTaskError, Skill, TextDelta, build_app
from a2a_adapters.plugin import Adapter, AgentDescription, remote_tool
from a2a_adapters.testing import running
from tests.calling.slow_agents import slow_agent
from tests.plugins.autogen.calling.support import (
    Endless,
    booking,
    everything,
    failing,
    remembering,
    remote,
)
from tests.plugins.autogen.support import agent, answer, ask, calling, model

GONE = {"url": "http://127.0.0.1:9", "retries": 0}


async def call(tool, message):
    result = await tool.run_json({"message": message}, CancellationToken())
    return tool.return_value_as_string(result)


async def test_the_card_gives_name_and_description():
    async with remote(booking) as elsewhere:
        tool = await A2ATool.afrom_agent(elsewhere)
        blocking = await asyncio.to_thread(A2ATool.from_agent, elsewhere, wait=9)
        made = await asyncio.to_thread(remote_tool, elsewhere, "autogen")
    assert tool.name == blocking.name == made.name == "The_booking_agent"
    assert (tool._wait, blocking._wait) == (None, 9)
    assert "Book a flight" in tool.description
    parameters = tool.schema["parameters"]
    assert parameters["required"] == ["message"]
    assert parameters["properties"]["message"]["type"] == "string"


async def test_a_model_calls_it():
    async with remote(remembering) as elsewhere:
        tool = A2ATool(elsewhere, "far", "Remembers.")
        helper = agent(calling("far", message="hello"), tools=[tool])
        result = await helper.run(task="hi")
    assert result.messages[-1].content == "hello"


async def test_calls_are_one_conversation_and_answer_questions():
    async with remote(remembering) as elsewhere:
        tool = A2ATool(elsewhere, "far", "Remembers.")
        await call(tool, "one")
        assert await call(tool, "two") == "one | two"
    async with remote(booking) as elsewhere:
        tool = A2ATool(elsewhere, "far", "Books.")
        assert (await call(tool, "book")).startswith("Which city?\n(It asks you.")
        later = A2ATool(elsewhere, "far", "Books.")
        await later.load_state_json(json.loads(json.dumps(await tool.save_state_json())))
        assert await call(later, "Rome") == "Booked Rome."


@pytest.mark.parametrize("is_shared", [True, False])
async def test_tools_of_served_agents_are_isolated(is_shared):
    async with remote(remembering) as elsewhere:
        words = iter(["ann1", "bob1", "ann2"])
        client = model(*(calling("far", message=word) for word in words))

        def make():
            tool = A2ATool(elsewhere, "far", "Remembers.")
            return AssistantAgent("helper", client, tools=[tool])

        adapter = adapt(make() if is_shared else make)
        assert answer(await ask(adapter, "hi", owner="ann")) == "ann1"
        assert answer(await ask(adapter, "hi", owner="bob")) == "bob1"
        assert answer(await ask(adapter, "hi", owner="ann")) == "ann1 | ann2"


async def test_the_answer_includes_data_and_file_names():
    async with remote(everything) as elsewhere:
        tool = A2ATool(elsewhere, "far", "Tells.")
        result = await tool.run_json({"message": "hi"}, CancellationToken())
    assert result.data == [{"n": 3}]
    assert result.state == "completed"
    assert tool.return_value_as_string(result) == (
        'here:\n{"n":3}\n(A file: a.png)\n(A file: b.csv)\n(A file: broken.png)'
    )


async def test_an_empty_answer_is_reported_to_the_model():
    async def silent(text: str):
        """Return an empty answer."""

    async with remote(silent) as elsewhere:
        assert await call(A2ATool(elsewhere, "far", "x"), "hi") == "(The agent answered nothing.)"


async def test_a_failure_is_returned_to_the_model():
    async with remote(failing) as elsewhere:
        tool = A2ATool(elsewhere, "far", "Fails.")
        helper = agent(calling("far", message="hello"), tools=[tool])
        result = await helper.run(task="hi")
    (outcome,) = result.messages[-1].results
    assert outcome.is_error
    assert "failed" in outcome.content


async def test_cancelling_cancels_the_remote_task(has_begun):
    endless = Endless()
    async with remote(endless.__call__) as elsewhere:
        token = CancellationToken()
        tool = A2ATool(elsewhere, "far", "x")
        run = asyncio.create_task(tool.run_json({"message": "hi"}, token))
        await has_begun.wait()
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await asyncio.wait_for(endless.was_stopped.wait(), 60)


class Skilled(Adapter):
    """Answers with the id of the requested skill."""

    def describe(self):
        return AgentDescription(
            name="Desk",
            description="Does it all.",
            skills=[
                Skill(id="book", name="Book a flight", description="Books.", examples=["to Rome"]),
                Skill(id="cancel", name="", description="Cancels."),
            ],
        )

    async def stream(self, request):
        yield TextDelta(str(request.metadata.get("skill_id")))


async def test_there_can_be_a_tool_for_each_skill():
    async with running(build_app(Skilled())) as url, RemoteAgent(url) as elsewhere:
        book, cancel = await A2ATool.aper_skill(elsewhere)
        again = await asyncio.to_thread(A2ATool.per_skill, elsewhere)
        whole = await A2ATool.afrom_agent(elsewhere)
        assert [tool.name for tool in again] == ["Book_a_flight", "cancel"]
        assert book.description == "Books.\nExample: to Rome"
        assert whole.description.startswith("Asks the agent Desk: Does it all.\nIt can:\n- Book")
        assert await call(book, "hi") == "book"
        assert await call(cancel, "hi") == "cancel"


async def test_it_can_be_dumped_and_loaded():
    async with running(build_app(remembering)) as url:
        dumped = A2ATool(url, "far", "Remembers.", skill_id="x").dump_component()
        loaded = BaseTool.load_component(dumped)
        assert await call(loaded, "hi") == "hi"
    assert isinstance(loaded, A2ATool)
    assert loaded.dump_component() == dumped
    with pytest.raises(ValueError, match="RemoteAgent"):
        A2ATool(RemoteAgent(url), "far", "x").dump_component()


async def test_each_agent_is_a_tool_with_a_conversation_of_its_own():
    async with remote(booking) as books, remote(remembering) as remembers:
        kit = A2AToolkit({"books": books, "gone": GONE, "far": {"url": remembers.name, "wait": 60}})
        for word in ("one", "two"):
            tools = await kit.aget_tools()
            assert [tool.name for tool in tools] == ["books", "far"]
            helper = agent(calling("far", message=word), tools=tools)
            assert (await helper.run(task="hi")).messages[-1].content == word
        blocking = await asyncio.to_thread(kit.get_tools)
        assert [tool.name for tool in blocking] == ["books", "far"]


async def test_the_next_call_waits_for_the_rest():
    async with slow_agent("ours") as (card, gate):
        tool = A2ATool(RemoteAgent(card), "slow", "Slow.", wait=0.05)

        async def call(message):
            result = await tool.run_json({"message": message}, CancellationToken())
            return tool.return_value_as_string(result)

        said = await call("ping")
        assert "still working" in said
        gate.open()
        while "still working" in said:
            said = await call("go on")
        assert said == "pong"


def test_the_wait_is_part_of_the_configuration():
    tool = A2ATool("http://127.0.0.1:9", "slow", "Slow.", wait=5)
    assert A2ATool.load_component(tool.dump_component()).dump_component().config["wait"] == 5


async def test_a_cancelled_call_cancels_its_task():
    async with slow_agent("ours") as (card, gate), RemoteAgent(card) as agent:
        tool = A2ATool(agent, "slow", "Slow.", wait=60)
        token = CancellationToken()
        calling = asyncio.ensure_future(tool.run_json({"message": "ping"}, token))
        await gate.reached.wait()
        [task] = [task async for task in agent.tasks()]
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        with pytest.raises(RemoteTaskError, match="cancelled"):
            await task.result()
