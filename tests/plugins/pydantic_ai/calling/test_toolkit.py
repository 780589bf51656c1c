"""Several agents as a toolset."""

from __future__ import annotations

from a2a_adapters_pydantic_ai import A2AToolkit
from pydantic_ai import Agent

from tests.plugins.openai_agents.calling.support import booking, remembering, served
from tests.plugins.pydantic_ai.support import Fake, calling

GONE = {"url": "http://127.0.0.1:9", "retries": 0}


async def test_each_agent_is_a_tool_of_the_toolset():
    def act(messages):
        part = messages[-1].parts[0]
        return part.content if part.part_kind == "tool-return" else calling("two", message="hi")

    async with served(booking) as books, served(remembering) as remembers:
        kit = A2AToolkit({"one": books, "gone": GONE, "two": {"url": remembers.name}}, id="fleet")
        assert kit.id == "fleet"
        assert list(await kit.get_tools(None)) == ["one", "two"]
        result = await Agent(Fake(act), toolsets=[kit]).run("go")
    assert result.output.startswith("hi\n(context_id: ")
