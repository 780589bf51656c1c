"""Concurrent callers with the same context ids are isolated."""

from __future__ import annotations

import asyncio
from typing import Any

from strands import ToolContext, tool

from tests.plugins.strands import support
from tests.support.agents.isolation import check_repeating, listening
from tests.support.agents.state import check_state, keeping


@tool(context=True)
async def repeat(words: str, tool_context: ToolContext) -> str:
    """Repeat the text, after a question in the first turn and after yielding to other runs."""
    if " " not in words:
        tool_context.interrupt("sure", "Sure?")
    for _ in range(3):
        await asyncio.sleep(0)
    return f"{tool_context.invocation_state['a2a'].owner}: {words}"


async def test_callers_of_one_agent_are_isolated():
    await check_repeating("memory:", listening(support, repeat), questions=1)


async def test_callers_of_a_function_are_isolated(url):
    await check_repeating(url, lambda: listening(support, repeat), questions=1)


async def test_stored_state_names_no_class(url, tmp_path):
    kept = []

    @tool(context=True)
    def keep(value: dict[str, Any], tool_context: ToolContext) -> str:
        """Keep a value, after a question."""
        tool_context.interrupt("sure", {"question": "Sure?", "value": value})
        kept.append(value)
        return "kept"

    await check_state(url, tmp_path / "mark", lambda: keeping(support, keep), kept)
