"""A tool that waits only so long for its agent."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_langchain import A2ATool
from pydantic import ValidationError

from a2a_adapters import RemoteAgent
from tests.calling.slow_agents import QUESTION, slow_agent


def thread(name):
    return {"configurable": {"thread_id": name}}


def tool_for(card, wait):
    return A2ATool(agent=RemoteAgent(card), name="slow", description="Slow.", wait=wait)


async def test_the_next_call_waits_for_the_rest():
    async with slow_agent("ours") as (card, gate):
        tool = tool_for(card, wait=0.05)
        said = await tool.ainvoke({"message": "ping"}, thread("a"))
        assert "still working" in said
        gate.open()
        while "still working" in said:
            said = await tool.ainvoke({"message": "go on"}, thread("a"))
        assert said == "pong"


async def test_threads_have_their_own_tasks():
    async with slow_agent("ours") as (card, gate):
        tool = tool_for(card, wait=60)
        gate.open()
        asked, answered = await asyncio.gather(
            tool.ainvoke({"message": "book"}, thread("a")),
            tool.ainvoke({"message": "ping"}, thread("b")),
        )
        assert asked.startswith(QUESTION)
        assert answered == "pong"
        assert await tool.ainvoke({"message": "Rome"}, thread("a")) == "Booked: Rome"


async def test_blocking_calls_wait_likewise():
    async with slow_agent("ours") as (card, gate):
        tool = tool_for(card, wait=0.05)
        said = await asyncio.to_thread(tool.invoke, {"message": "ping"}, thread("a"))
        assert "still working" in said
        gate.open()


async def test_without_a_thread_an_unfinished_task_is_cancelled():
    async with slow_agent("ours") as (card, _), RemoteAgent(card) as agent:
        tool = A2ATool(agent=agent, name="slow", description="Slow.", wait=0.05)
        said = await tool.ainvoke({"message": "ping"})
        assert "no complete answer within 0.05 s" in said
        assert [task.state async for task in agent.tasks()] == ["canceled"]


@pytest.mark.parametrize("wait", [0, -1])
def test_a_wait_is_positive(wait):
    with pytest.raises(ValidationError):
        A2ATool(agent="http://127.0.0.1:9", name="slow", description="Slow.", wait=wait)
