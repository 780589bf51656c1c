"""Concurrent callers with the same context ids are isolated."""

from __future__ import annotations

import asyncio

from agents import Agent, function_tool

from a2a_adapters import ServerOptions, build_app
from a2a_adapters.testing import answer_of, connect, running, user_message
from tests.plugins.openai_agents.support import Fake, calling, said
from tests.support.busy import send

CALLERS, TURNS = 40, 3


@function_tool
async def repeat(words: str) -> str:
    """Repeat the text after yielding to other runs."""
    for _ in range(3):
        await asyncio.sleep(0)
    return words


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


async def talk(url, caller):
    words = [f"{caller}.{turn}" for turn in range(TURNS)]
    async with connect(url, user=caller) as client:
        for word in words:
            task = await send(client, user_message(word, context_id="shared"))
    return " ".join(words), answer_of(task)


async def test_concurrent_callers_are_isolated(any_storage):
    options = ServerOptions(storage=any_storage)
    async with running(build_app(listening(), options=options)) as url:
        talks = await asyncio.gather(*(talk(url, f"caller{n}") for n in range(CALLERS)))
    assert [answers for _, answers in talks] == [said for said, _ in talks]
