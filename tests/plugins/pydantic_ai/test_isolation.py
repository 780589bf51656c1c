"""Concurrent callers with the same context ids are isolated."""

from __future__ import annotations

import asyncio

import pytest
from pydantic_ai import Agent, ApprovalRequired, RunContext
from pydantic_ai.agent import WrapperAgent

from a2a_adapters import AgentRequest, ServerOptions, build_app
from a2a_adapters.testing import answer_of, connect, running, user_message
from tests.plugins.pydantic_ai.support import Fake, calling, results, said
from tests.plugins.sql.conftest import new_url
from tests.support.busy import send

CALLERS, TURNS = 40, 3


def listening(*, asks=False):
    """Return an agent whose tool repeats the conversation with the caller's name.

    The tool asks in the first turn if `asks`.
    """

    def model(messages):
        if done := results(messages):
            return next(iter(done.values()))
        return calling("repeat", call_id=f"r{len(messages)}", words=" ".join(said(messages)))

    made = Agent(Fake(model), deps_type=AgentRequest)

    @made.tool
    async def repeat(ctx: RunContext[AgentRequest], words: str) -> str:
        """Repeat the text after yielding to other runs."""
        if asks and " " not in words and not ctx.tool_call_approved:
            raise ApprovalRequired
        for _ in range(3):
            await asyncio.sleep(0)
        return f"{ctx.deps.owner}: {words}"

    return made


async def talk(url, caller):
    words = [f"{caller}.{turn}" for turn in range(TURNS)]
    async with connect(url, user=caller) as client:
        for word in words:
            task = await send(client, user_message(word, context_id="shared"))
            if task.status.message.parts:
                task = await send(client, user_message("yes", task_id=task.id))
    return f"{caller}: {' '.join(words)}", answer_of(task)


async def check(storage, target):
    options = ServerOptions(storage=storage)
    async with running(build_app(target, options=options)) as url:
        talks = await asyncio.gather(*(talk(url, f"caller{n}") for n in range(CALLERS)))
    assert [heard for _, heard in talks] == [told for told, _ in talks]


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_concurrent_callers_are_isolated(engine, tmp_path):
    await check(new_url(engine, tmp_path), listening(asks=True))


async def test_callers_of_wrapped_agents_and_factories_are_isolated():
    await check("memory:", lambda: WrapperAgent(listening()))
