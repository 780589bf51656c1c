"""Interrupts become questions, which are answered at once, by id or in turn."""

from __future__ import annotations

import pytest

from a2a_adapters import Data, InputRequired, ToolCall, ToolResult
from tests.plugins.strands import support
from tests.plugins.strands.support import adapt
from tests.support.adapters import answer, ask, data, only, reply
from tests.support.agents import questions
from tests.support.agents.questions import clerk, ids, outliving


class TestQuestions(questions.Questions):
    support = support
    unclear = "The reply is empty."
    first = "Book Rome?"


async def test_several_questions_are_asked_at_once():
    events = await ask(adapt(clerk(support, [])), "book", wants_progress=True)
    question = only(events, InputRequired)
    assert question.durable
    assert question.prompt.startswith("1. Book Rome?\n2. Book Oslo?")
    assert [part["reason"]["city"] for part in data(events)[:2]] == ["Rome", "Oslo"]


async def test_questions_are_answered_by_id():
    log = []
    adapter = adapt(clerk(support, log))
    first, second = ids(await ask(adapter, "book", wants_progress=True))
    events = await reply(adapter, Data({first: "yes", second: "no"}), wants_progress=True)
    assert answer(events) == "Rome: yes; Oslo: no"
    assert sorted(log) == ["Oslo", "Rome"]  # at once
    assert not [event for event in events if isinstance(event, ToolCall)]  # reported before
    found = [event.result for event in events if isinstance(event, ToolResult)]
    assert sorted(found) == ["Oslo: no", "Rome: yes"]


async def test_questions_are_answered_in_turn():
    log = []
    adapter = adapt(clerk(support, log))
    await ask(adapter, "book")
    events = await reply(adapter, "yes")
    assert only(events, InputRequired).prompt == "Book Oslo?"
    assert log == []  # the run goes on once, with all answers
    assert answer(await reply(adapter, "no")) == "Rome: yes; Oslo: no"


@pytest.mark.parametrize("served", ["agent", "team"])
async def test_questions_outlive_their_process(served, tmp_path):
    texts = await outliving(support, tmp_path, ["in May", "in June"], served)
    assert texts == ["Let me see.", "Rome: in May; Oslo: in June"]
    assert sorted((tmp_path / "booked").read_text().split()) == ["Oslo", "Rome"]  # at once
