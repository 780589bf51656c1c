"""A tool that waits only so long for its agent."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_crewai import A2ATool
from crewai.flow.flow_context import current_flow_id

from a2a_adapters import RemoteAgent
from tests.calling.slow_agents import slow_agent


@pytest.fixture
def in_a_flow():
    token = current_flow_id.set("flow-1")
    yield
    current_flow_id.reset(token)


def tool_for(agent):
    return A2ATool(agent=agent, name="slow", description="Slow.", wait=0.05)


async def test_the_next_call_in_the_flow_waits_for_the_rest(in_a_flow):
    async with slow_agent("ours") as (card, gate), RemoteAgent(card) as agent:
        tool = tool_for(agent)
        said = await asyncio.to_thread(tool.run, message="ping")
        assert "still working" in said
        gate.open()
        while "still working" in said:
            said = await asyncio.to_thread(tool.run, message="go on")
        assert said == "pong"


async def test_elsewhere_an_unfinished_task_is_cancelled():
    async with slow_agent("ours") as (card, _), RemoteAgent(card) as agent:
        said = await asyncio.to_thread(tool_for(agent).run, message="ping")
        assert "no complete answer within 0.05 s" in said
        assert [task.state async for task in agent.tasks()] == ["canceled"]
