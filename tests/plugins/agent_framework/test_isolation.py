"""Concurrent callers with the same context ids are isolated."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agent_framework import FunctionInvocationContext, tool

from tests.plugins.agent_framework import support
from tests.support.agents.isolation import TURNS, check_repeating, listening
from tests.support.agents.state import check_state, keeping


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


@pytest.mark.parametrize("is_workflow", [False, True], ids=["agent", "workflow"])
async def test_stored_state_names_no_class(url, tmp_path, is_workflow):
    kept = []

    @tool(approval_mode="always_require")
    def keep(value: dict[str, Any]) -> str:
        """Keep a value."""
        kept.append(value)
        return "kept"

    def make():
        if is_workflow:
            return lambda: support.team(keeping(support, keep))
        return keeping(support, keep)

    await check_state(url, tmp_path / "mark", make, kept)
