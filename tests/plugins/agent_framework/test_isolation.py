"""Concurrent callers with the same context ids are isolated."""

from __future__ import annotations

import asyncio

import pytest
from agent_framework import Agent, FunctionInvocationContext, tool

from a2a_adapters import ServerOptions, build_app
from a2a_adapters.testing import answer_of, connect, running, user_message
from tests.plugins.agent_framework.support import Fake, calling, results, said
from tests.plugins.sql.conftest import new_url
from tests.support.busy import send

CALLERS, TURNS = 40, 3


@tool(approval_mode="always_require")
async def repeat(words: str, ctx: FunctionInvocationContext) -> str:
    """Repeat the text after yielding to other runs."""
    for _ in range(3):
        await asyncio.sleep(0)
    return f"{ctx.kwargs['a2a'].owner}: {words}"


def listening() -> Agent:
    """Return an agent whose tool repeats the conversation with the caller's name."""

    def model(messages):
        if done := results(messages):
            return next(iter(done.values()))
        return calling("repeat", call_id=f"r{len(messages)}", words=" ".join(said(messages)))

    return Agent(client=Fake(model), tools=[repeat])


async def talk(url, caller):
    words = [f"{caller}.{turn}" for turn in range(TURNS)]
    async with connect(url, user=caller) as client:
        for word in words:
            task = await send(client, user_message(word, context_id="shared"))
            assert task.status.message.parts, "every call is approved"
            task = await send(client, user_message("yes", task_id=task.id))
    return f"{caller}: {' '.join(words)}", answer_of(task)


async def check(storage, target):
    async with running(build_app(target, options=ServerOptions(storage=storage))) as url:
        talks = await asyncio.gather(*(talk(url, f"caller{n}") for n in range(CALLERS)))
    assert [heard for _, heard in talks] == [told for told, _ in talks]


@pytest.mark.parametrize("engine", ["memory", "sqlite", "postgresql"])
async def test_callers_of_one_agent_are_isolated(engine, tmp_path):
    await check("memory:" if engine == "memory" else new_url(engine, tmp_path), listening())


async def test_callers_of_a_function_are_isolated():
    await check("memory:", listening)
