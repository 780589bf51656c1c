"""Several agents as tools."""

from __future__ import annotations

import asyncio

from a2a_adapters_autogen import A2AToolkit

from tests.plugins.autogen.calling.support import booking, remembering, remote
from tests.plugins.autogen.support import agent, calling

GONE = {"url": "http://127.0.0.1:9", "retries": 0}


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
