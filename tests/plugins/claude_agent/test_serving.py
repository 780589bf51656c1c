"""Answers, progress, files, usage, failures and cancellation."""

from __future__ import annotations

from a2a_adapters import Progress, TaskMetadata, ToolCall, ToolResult
from tests.plugins.claude_agent import support
from tests.plugins.claude_agent.support import adapt, agent, calling, made, script
from tests.support.adapters import answer, ask, deltas, only


async def test_tokens_are_streamed_and_usage_is_reported():
    events = await ask(adapt(agent("one two three")), "hi")
    assert deltas(events) == ["one", " two", " three"]
    usage = only(events, TaskMetadata).values
    assert usage["usage"] == {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    assert usage["cost_envelope"]["currency"] == "USD"


async def test_thoughts_and_tools_are_progress_and_the_last_message_is_the_answer():
    def look(city):
        """Look."""
        return f"rain in {city}"

    thought = {"type": "thinking", "thinking": "hm"}
    model = script([thought, "Let me see.", calling("look", city="Rome")], "It rains.")
    events = await ask(adapt(made(model, tools=[support.tool(look)])), "hi", wants_progress=True)
    assert answer(events) == "It rains."
    shown = [each for each in events if isinstance(each, Progress | ToolCall | ToolResult)]
    assert shown == [
        Progress("hm", {"kind": "thought"}),
        Progress("Let me see.", {"kind": "text"}),
        ToolCall("c1", "mcp__local__look", {"city": "Rome"}),
        ToolResult("c1", "mcp__local__look", "rain in Rome"),
    ]


async def test_progress_is_off_by_default():
    thought = {"type": "thinking", "thinking": "hm"}
    events = await ask(adapt(agent([thought, "y"])), "hi")
    assert not [each for each in events if isinstance(each, Progress)]
