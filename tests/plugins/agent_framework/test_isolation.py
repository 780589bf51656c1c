"""Concurrent callers with the same context ids are isolated."""

from __future__ import annotations

import asyncio

from agent_framework import FunctionInvocationContext, tool

from tests.plugins.agent_framework import support
from tests.support.agents.isolation import TURNS, check_repeating, listening


@tool(approval_mode="always_require")
async def repeat(words: str, ctx: FunctionInvocationContext) -> str:
    """Repeat the text after yielding to other runs."""
    for _ in range(3):
        await asyncio.sleep(0)
    return f"{ctx.kwargs['a2a'].owner}: {words}"


async def test_callers_of_one_agent_are_isolated(any_storage):
    await check_repeating(any_storage, listening(support, repeat), questions=TURNS)


async def test_callers_of_a_function_are_isolated():
    await check_repeating("memory:", lambda: listening(support, repeat), questions=TURNS)
