"""Several agents as tools."""

from __future__ import annotations

import asyncio

from a2a_adapters_crewai import A2AToolkit

from tests.plugins.crewai.calling import desk

GONE = {"url": "http://127.0.0.1:9", "retries": 0}


async def test_each_agent_is_a_tool():
    async with desk() as (there, remote):
        kit = A2AToolkit({"one": remote, "gone": GONE, "two": {"url": remote.name, "wait": 60}})
        tools = await kit.aget_tools()
        assert [tool.name for tool in tools] == ["one", "two"]
        assert [tool.wait for tool in tools] == [None, 60]
        assert [tool.name for tool in await asyncio.to_thread(kit.get_tools)] == ["one", "two"]
        await asyncio.to_thread(tools[1].run, message="hello")
    assert there.received[0].text == "hello"
