"""Approvals become questions, which are answered at once, by id or in turn."""

from __future__ import annotations

import pytest
from agent_framework import Content, tool

from a2a_adapters import InputRequired, ToolCall, ToolResult
from tests.plugins.agent_framework import support
from tests.plugins.agent_framework.support import Fake, adapt, made, results
from tests.support.adapters import answer, ask, only, reply
from tests.support.agents import questions
from tests.support.agents.questions import outliving


class TestApprovals(questions.Approvals):
    support = support
    refused = "rejected by user"

    def check_tools(self, events):
        assert only(events, ToolCall).arguments == {"city": "Rome"}
        assert only(events, ToolResult).result == "Rome booked"

    async def test_calls_are_not_progress_before_they_are_made(self):
        events = await ask(adapt(self.asking()), "book", wants_progress=True)
        assert not [event for event in events if isinstance(event, ToolCall)]


async def test_calls_without_arguments_are_asked_about():
    @tool(approval_mode="always_require")
    def leave() -> str:
        """Leave."""
        return "gone"

    def model(messages):
        return results(messages).get("c1") or Content.from_function_call("c1", "leave")

    adapter = adapt(made(Fake(model), tools=[leave]))
    events = await ask(adapter, "go")
    assert only(events, InputRequired).prompt.startswith("The agent wants to call leave().")
    assert answer(await reply(adapter, "yes")) == "gone"


REFUSED = {
    "agent": "The user did not approve this call, and says: rather not",
    "team": "Error: Tool call invocation was rejected by user.",
}


@pytest.mark.parametrize("served", REFUSED)
async def test_questions_outlive_their_process(served, tmp_path):
    texts = await outliving(support, tmp_path, ["yes", "rather not"], served)
    assert texts == ["Let me see.", f"Rome booked; {REFUSED[served]}"]
    assert (tmp_path / "booked").read_text() == "Rome\n"
