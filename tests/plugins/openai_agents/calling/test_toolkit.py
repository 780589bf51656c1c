"""Several agents as tools."""

from __future__ import annotations

import asyncio

from a2a_adapters_openai_agents import A2AToolkit
from agents import Agent, RunConfig, Runner

from tests.plugins.openai_agents.calling.support import booking, remembering, served
from tests.plugins.openai_agents.support import Fake, calling

GONE = {"url": "http://127.0.0.1:9", "retries": 0}


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
