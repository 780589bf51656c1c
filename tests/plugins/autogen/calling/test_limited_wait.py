"""A tool that waits only so long for its agent."""

from __future__ import annotations

from a2a_adapters_autogen import A2ATool
from autogen_core import CancellationToken

from a2a_adapters import RemoteAgent
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
