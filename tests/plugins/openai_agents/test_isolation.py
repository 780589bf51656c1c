"""Concurrent callers with the same context ids are isolated."""

from __future__ import annotations

import asyncio

from a2a_adapters_openai_agents import adapt
from agents import Agent, RunContextWrapper, function_tool

from tests.plugins.openai_agents.support import Fake, calling, said
from tests.support.agents.isolation import check_repeating


@function_tool
async def repeat(wrapper: RunContextWrapper[str], words: str) -> str:
    """Repeat the text after yielding to other runs."""
    for _ in range(3):
        await asyncio.sleep(0)
    return f"{wrapper.context}: {words}"


def listening():
    """Return agents that hand over, call a tool, and repeat the conversation."""

    def model(items):
        if (
            items[-1].get("type") == "function_call_output"
            and "assistant" not in items[-1]["output"]
        ):
            return items[-1]["output"]
        return calling("repeat", call_id=f"r{len(items)}", words=" ".join(said(items)))

    listener = Agent(name="listener", model=Fake(model), tools=[repeat])
    front = Fake(lambda items: calling("transfer_to_listener", call_id=f"t{len(items)}"))
    return Agent(name="front", model=front, handoffs=[listener])


async def test_concurrent_callers_are_isolated(any_storage):
    target = adapt(listening(), context=lambda asked: asked.owner)
    await check_repeating(any_storage, target, questions=0)
