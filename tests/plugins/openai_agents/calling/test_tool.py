"""Remote agents as tools, and handoffs to them."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import closing

import pytest
from a2a.types import TaskState
from a2a_adapters_openai_agents import A2AToolkit, a2a_handoff, a2a_tool
from agents import Agent, RunConfig, Runner, SQLiteSession
from agents.tool_context import ToolContext

from a2a_adapters import Skill, build_app
from a2a_adapters.plugin import AgentDescription, remote_tool
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.openai_agents.calling.support import booking, failing, remembering, served
from tests.plugins.openai_agents.support import Fake, agent, calling

QUIET = RunConfig(tracing_disabled=True)
ABOUT = AgentDescription(name="The desk", description="Books trips.")

GONE = {"url": "http://127.0.0.1:9", "retries": 0}


async def call(tool, **arguments):
    """Call a tool as a model does."""
    text = json.dumps({"context_id": "", "task_id": "", **arguments})
    context = ToolContext(None, tool_name=tool.name, tool_call_id="1", tool_arguments=text)
    return await tool.on_invoke_tool(context, text)


def names(result):
    """Return the ids in a result."""
    return dict(re.findall(r"(context_id|task_id): ([^,)]+)", result))


async def test_the_card_is_the_description():
    async with served(booking) as remote:
        tool = a2a_tool(remote, await remote.describe())
        assert tool.name == "booking"
        assert "Book a trip" in tool.description
        blocking = await asyncio.to_thread(a2a_tool, remote)
        assert (blocking.name, blocking.description) == (tool.name, tool.description)
        by_name = await asyncio.to_thread(remote_tool, remote, "openai-agents")
        assert by_name.name == "booking"


async def test_each_skill_is_a_tool():
    from a2a_adapters import AgentRequest

    async def telling(request: AgentRequest):
        yield str(request.message.metadata["skill_id"])

    skill = Skill(id="s1", name="Sum up", description="Sums a text up.")
    async with served(telling) as remote:
        tool = a2a_tool(remote, skill)
        assert (tool.name, tool.description) == ("Sum_up", "Sums a text up.")
        assert (await call(tool, message="hi")).startswith("s1")


async def test_conversations_continue_by_id():
    async with served(remembering) as remote:
        tool = a2a_tool(remote, ABOUT)
        first = await call(tool, message="one")
        assert first.startswith("one\n")
        second = await call(tool, message="two", **names(first))
        assert second.startswith("one | two\n")
        assert (await call(tool, message="three")).startswith("three\n")


async def test_the_next_call_answers_a_question():
    async with served(booking) as remote:
        tool = a2a_tool(remote, ABOUT)
        asked = await call(tool, message="book")
        assert asked.startswith("Which city?\n(It asks you.")
        done = await call(tool, message="Rome", **names(asked))
    assert done.startswith("Booked Rome.")
    assert "task_id" not in done


async def test_errors_are_returned_to_the_model():
    async with served(failing) as remote:
        tool = a2a_tool(remote, ABOUT)
        assert (await call(tool, message="hi")).startswith("The agent could not be asked: ")
        context = ToolContext(None, tool_name="t", tool_call_id="1", tool_arguments="{}")
        assert "message: Field required" in await tool.on_invoke_tool(context, "{}")
        assert "could not be asked" in await tool.on_invoke_tool(context, "no json")


async def test_many_runs_share_a_tool():
    async with served(remembering) as remote:

        def model(items):
            words = items[0]["content"]
            results = [
                item["output"] for item in items if item.get("type") == "function_call_output"
            ]
            if len(results) == 3:
                return results[-1].partition("\n")[0]
            known = {"context_id": "", **names(results[-1])} if results else {"context_id": ""}
            return calling("The_desk", call_id=f"c{len(items)}", message=words, task_id="", **known)

        agent = Agent(name="local", model=Fake(model), tools=[a2a_tool(remote, ABOUT)])
        said = [f"caller{number}" for number in range(40)]
        runs = await asyncio.gather(*(Runner.run(agent, who, run_config=QUIET) for who in said))
    assert [run.final_output for run in runs] == [" | ".join([who] * 3) for who in said]


@pytest.mark.parametrize("approves", [True, False])
async def test_answers_can_require_approval(approves):
    async with served(booking) as remote:

        def model(items):
            results = [
                item["output"] for item in items if item.get("type") == "function_call_output"
            ]
            if not results:
                return calling("The_desk", message="book", context_id="", task_id="")
            if "asks you" in results[-1]:
                return calling("The_desk", call_id="c2", message="Rome", **names(results[-1]))
            return results[-1].partition("\n")[0]

        tool = a2a_tool(remote, ABOUT, approve_answers=True)
        agent = Agent(name="local", model=Fake(model), tools=[tool])
        waiting = await Runner.run(agent, "book", run_config=QUIET)
        [asked] = waiting.interruptions
        assert json.loads(asked.arguments)["message"] == "Rome"
        state = waiting.to_state()
        if approves:
            state.approve(asked)
        else:
            state.reject(asked, rejection_message="Not there.")
        done = await Runner.run(agent, state, run_config=QUIET)
    assert done.final_output == ("Booked Rome." if approves else "Not there.")


async def test_each_agent_is_a_tool():
    def act(items):
        return items[-1]["output"] if len(items) > 1 else calling("remembers", message="hi")

    async with served(booking) as books, served(remembering) as remembers:
        kit = A2AToolkit({"books": books, "gone": GONE, "remembers": {"url": remembers.name}})
        tools = await kit.aget_tools()
        assert [tool.name for tool in tools] == ["books", "remembers"]
        blocking = await asyncio.to_thread(kit.get_tools)
        assert [tool.description for tool in blocking] == [tool.description for tool in tools]
        agent = Agent("planner", model=Fake(act), tools=tools)
        result = await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))
    assert result.final_output.startswith("hi\n(context_id: ")


def front(remote):
    handoff = a2a_handoff(remote, ABOUT)
    return agent(calling("transfer_to_The_desk"), name="front", handoffs=[handoff])


async def test_the_card_describes_a_handoff():
    async with served(booking) as remote:
        handoff = await asyncio.to_thread(a2a_handoff, remote)
    assert handoff.tool_name == "transfer_to_booking"
    assert "Book a trip" in handoff.tool_description
    assert handoff.agent_name == "booking"


async def test_handoffs_continue_the_conversation():
    async with served(booking) as remote:
        with closing(SQLiteSession("one")) as session:
            asked = await Runner.run(front(remote), "book", session=session, run_config=QUIET)
            assert asked.final_output == "Which city?"
            assert asked.last_agent.name == "The desk"
            done = await Runner.run(asked.last_agent, "Rome", session=session, run_config=QUIET)
    assert done.final_output == "Booked Rome."


async def test_agents_with_remote_handoffs_are_served():
    async with (
        served(booking) as remote,
        running(build_app(front(remote))) as url,
        connect(url) as client,
    ):
        asked = await send(client, user_message("book"))
        assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        assert asked.status.message.parts[0].text == "Which city?"
        done = await send(client, user_message("Rome", task_id=asked.id))
    assert answer_of(done) == "Booked Rome."
