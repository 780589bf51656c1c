"""A tool that waits only so long for its agent."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_autogen import A2ATool
from autogen_core import CancellationToken

from a2a_adapters import RemoteAgent, RemoteTaskError
from tests.calling.slow_agents import slow_agent


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
