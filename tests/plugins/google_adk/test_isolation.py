"""Concurrent callers with the same context ids are isolated."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.runners import InMemoryRunner
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from tests.plugins.google_adk import support
from tests.plugins.sql.conftest import new_url
from tests.support.agents.isolation import TURNS, check_repeating, listening
from tests.support.agents.state import check_state, keeping


async def repeat(words: str, tool_context: ToolContext) -> str:
    """Repeat the text after yielding to other runs."""
    for _ in range(3):
        await asyncio.sleep(0)
    return f"{tool_context.state['temp:a2a'].owner}: {words}"


def listener():
    return listening(support, FunctionTool(repeat, require_confirmation=True))


@pytest.mark.parametrize(
    ("engine", "made"),
    [
        ("memory", listener),
        ("postgresql", lambda: listener),
        ("sqlite", lambda: InMemoryRunner(agent=listener())),
    ],
    ids=["agent", "function", "runner"],
)
async def test_callers_are_isolated(engine, made, tmp_path):
    await check_repeating(new_url(engine, tmp_path), made(), questions=TURNS)


async def test_stored_state_names_no_class(tmp_path):
    kept = []

    def keep(value: dict[str, Any]) -> str:
        """Keep a value."""
        kept.append(value)
        return "kept"

    tool = FunctionTool(keep, require_confirmation=True)
    url = new_url("sqlite", tmp_path)
    await check_state(url, tmp_path / "mark", lambda: keeping(support, tool), kept)
