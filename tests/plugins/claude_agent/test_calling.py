"""Remote agents as tools."""

from __future__ import annotations

import asyncio

from a2a_adapters_claude_agent import a2a_tool

from a2a_adapters import RemoteAgent, Skill, build_app
from a2a_adapters.plugin import remote_tool
from a2a_adapters.testing import running
from tests.plugins.claude_agent.support import adapt, calling, made, results, script
from tests.plugins.openai_agents.calling.support import booking, failing, remembering, served
from tests.support.adapters import answer, ask
from tests.support.agents.calling import ABOUT, NOWHERE
from tests.support.servers.front import Recording


async def call(tool, **arguments):
    """Call a tool as Claude Code does; return the text, and whether it is an error."""
    result = await tool.handler(arguments)
    return result["content"][0]["text"], result["is_error"]


async def test_a_served_agent_uses_a_remote_agent():
    async with served(booking) as remote:
        model = script(calling("The_desk", message="book"), "done")
        tools = [a2a_tool(remote, ABOUT)]
        assert answer(await ask(adapt(made(model, tools=tools)), "go")) == "done"
    told = results(model.heard[-1])["c1"]
    assert told.startswith("Which city?\n(It asks you. Call this tool again")


async def test_a_conversation_continues_by_its_ids():
    async with served(booking) as remote:
        tool = a2a_tool(remote, ABOUT)
        asked, _ = await call(tool, message="book")
        ids = asked.rpartition("(")[2].rstrip(")").split(", ")
        place = dict(each.split(": ") for each in ids)
        said, is_error = await call(tool, message="Rome", **place)
    assert said.startswith("Booked Rome.\n(context_id: ")
    assert not is_error


async def test_a_skill_is_a_tool():
    recording = Recording(build_app(remembering))
    skill = Skill(id="repeat", name="repeat", description="Repeats.")
    async with running(recording) as url:
        assert (await call(a2a_tool(url, skill), message="hi"))[0].startswith("hi\n")
    assert recording.messages[-1]["metadata"] == {"skill_id": "repeat"}


async def test_errors_are_results_for_the_model():
    async with served(failing) as remote:
        for tool in (a2a_tool(remote, ABOUT), a2a_tool(NOWHERE, ABOUT)):
            said, is_error = await call(tool, message="hi")
            assert said.startswith("The agent could not be asked:")
            assert is_error
        assert (await call(a2a_tool(remote, ABOUT)))[1]


async def test_the_framework_of_a_tool_is_found_by_name():
    async with served(remembering) as remote:
        for name in ("claude", "claude-agent-sdk"):
            tool = await asyncio.to_thread(remote_tool, RemoteAgent.of(remote), name)
            assert tool.name == "remembering"
