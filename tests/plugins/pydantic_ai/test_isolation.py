"""Concurrent callers with the same context ids are isolated."""

from __future__ import annotations

import asyncio

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.agent import WrapperAgent

from a2a_adapters import AgentRequest, ServerOptions, build_app
from a2a_adapters.testing import answer_of, connect, running, user_message
from tests.plugins.pydantic_ai.support import Fake, calling, results, said
from tests.support.busy import send

CALLERS, TURNS = 40, 3


def listening(*, asks=False):
    """Return an agent whose tool repeats the conversation with the caller's name."""

    def model(messages):
        if done := results(messages):
            return next(iter(done.values()))
        return calling("repeat", call_id=f"r{len(messages)}", words=" ".join(said(messages)))

    made = Agent(Fake(model), deps_type=AgentRequest)

    @made.tool(requires_approval=asks)
    async def repeat(ctx: RunContext[AgentRequest], words: str) -> str:
        """Repeat the text after yielding to other runs."""
        for _ in range(3):
            await asyncio.sleep(0)
        return f"{ctx.deps.owner}: {words}"

    return made


KINDS = {
    "agent": listening,
    "wrapped": lambda: WrapperAgent(listening()),
    "factory": lambda: listening,
    "asking": lambda: listening(asks=True),
}


async def talk(url, caller):
    words = [f"{caller}.{turn}" for turn in range(TURNS)]
    async with connect(url, user=caller) as client:
        for word in words:
            task = await send(client, user_message(word, context_id="shared"))
            if task.status.message.parts:
                task = await send(client, user_message("yes", task_id=task.id))
    return f"{caller}: {' '.join(words)}", answer_of(task)


@pytest.mark.parametrize("kind", KINDS)
async def test_concurrent_callers_are_isolated(any_storage, kind):
    options = ServerOptions(storage=any_storage)
    async with running(build_app(KINDS[kind](), options=options)) as url:
        talks = await asyncio.gather(*(talk(url, f"caller{n}") for n in range(CALLERS)))
    assert [heard for _, heard in talks] == [told for told, _ in talks]
