"""Concurrent callers with the same context ids are isolated."""

from __future__ import annotations

import asyncio

from pydantic_ai import ApprovalRequired, RunContext, Tool
from pydantic_ai.agent import WrapperAgent

from a2a_adapters import AgentRequest
from tests.plugins.pydantic_ai import support
from tests.support.agents.isolation import check_repeating, listening


async def repeat(ctx: RunContext[AgentRequest], words: str) -> str:
    """Repeat the text after yielding to other runs."""
    for _ in range(3):
        await asyncio.sleep(0)
    return f"{ctx.deps.owner}: {words}"


async def asking(ctx: RunContext[AgentRequest], words: str) -> str:
    """Repeat the text, after a question in the first turn."""
    if " " not in words and not ctx.tool_call_approved:
        raise ApprovalRequired
    return await repeat(ctx, words)


def listener(function):
    return listening(support, Tool(function, name="repeat"), deps_type=AgentRequest)


async def test_concurrent_callers_are_isolated(url):
    await check_repeating(url, listener(asking), questions=1)


async def test_callers_of_wrapped_agents_and_factories_are_isolated():
    await check_repeating("memory:", lambda: WrapperAgent(listener(repeat)), questions=0)
