"""Tool events in the progress of a run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from a2a_adapters_openai_agents import adapt
from agents import function_tool
from agents.mcp import MCPServerStdio

from a2a_adapters import ToolCall, ToolResult
from tests.plugins.openai_agents.support import agent, calling
from tests.support.adapters import answer, ask, only, reply

SERVER = Path(__file__).parents[1] / "mcp" / "small_server.py"


def server(mode, **options):
    """Return an MCP server with one tool."""
    arguments = ["-I", "-S", str(SERVER), mode]
    return MCPServerStdio({"command": sys.executable, "args": arguments}, **options)


@function_tool(needs_approval=True)
def book(city: str) -> str:
    """Book a trip."""
    return f"booked {city}"


@function_tool
def look(city: str) -> str:
    """Look at a city."""
    return f"rain in {city}"


async def test_results_after_an_approval_have_tool_names():
    calls = [calling("look", city="Rome"), calling("book", call_id="c2", city="Rome")]
    adapter = adapt(agent(calls, "done", tools=[look, book]))
    before = await ask(adapter, "hi", wants_progress=True)
    after = await reply(adapter, "yes", wants_progress=True)
    results = [event for event in (*before, *after) if isinstance(event, ToolResult)]
    assert results == [
        ToolResult("c1", "look", "rain in Rome"),
        ToolResult("c2", "book", "booked Rome"),
    ]


@pytest.mark.parametrize("mode", ["failing", "flagged"])
async def test_failed_mcp_tools_are_flagged_without_their_error(mode):
    async with server(mode, custom_data_extractor=lambda _: {"own": 1}) as mcp:
        for options in ({}, {"tool_use_behavior": "stop_on_first_tool"}):
            made = agent(calling(mode, text="x"), "done", mcp_servers=[mcp], **options)
            events = await ask(adapt(made), "hi", wants_progress=True)
            assert only(events, ToolCall).name == mode
            assert only(events, ToolResult) == ToolResult("c1", mode, is_error=True)
            assert answer(events) == ("The tool failed." if options else "done")
