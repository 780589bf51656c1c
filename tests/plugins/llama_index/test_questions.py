"""Events that ask become questions, which are answered at once, by id or in turn."""

from __future__ import annotations

import pytest
from workflows import Workflow, step
from workflows.events import InputRequiredEvent, StartEvent, StopEvent

from a2a_adapters import Data, InputRequired, Rejected, ToolCall, ToolResult
from a2a_adapters.plugin import as_json
from tests.plugins.llama_index import support
from tests.plugins.llama_index.flows import Travel, Twice
from tests.plugins.llama_index.support import adapt
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
    assert [part["question"]["city"] for part in data(events)[:2]] == ["Rome", "Oslo"]


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


async def test_replies_become_the_events_that_the_workflow_takes():
    adapter = adapt(Travel())
    question = only(await ask(adapter, "Rome"), InputRequired)
    assert question.prompt == "Approve?"
    schema = data([question])[-1]["response_schema"]["properties"]["1"]
    assert set(schema["properties"]) == {"approved", "reason"}
    unclear = only(await reply(adapter, "perhaps"), InputRequired)
    assert unclear.prompt.startswith("approved: ")
    events = await reply(adapter, "yes")
    assert as_json(data(events)) == [{"price": 300, "city": "Rome"}]
    await ask(adapter, "Rome")
    refused = await reply(adapter, Data({"1": {"approved": False, "reason": "dear"}}))
    assert as_json(data(refused)) == [{"price": 300, "city": "dear"}]


async def test_replies_that_no_step_takes_are_rejected():
    class Deaf(Workflow):
        @step
        async def ask(self, ev: StartEvent) -> InputRequiredEvent | StopEvent:
            return InputRequiredEvent(prefix="Hello?")

    adapter = adapt(Deaf())
    only(await ask(adapter, "hi"), InputRequired)
    assert "did not wait" in only(await reply(adapter, "yes"), Rejected).reason


async def test_workflows_ask_again_and_again():
    adapter = adapt(Twice())
    assert only(await ask(adapter, "hi"), InputRequired).prompt == "City?"
    assert only(await reply(adapter, "Rome"), InputRequired).prompt == "Day?"
    assert answer(await reply(adapter, "Monday")) == "Rome on Monday"


@pytest.mark.parametrize("served", ["agent", "team"])
async def test_questions_outlive_their_process(served, tmp_path):
    texts = await outliving(support, tmp_path, ["in May", "in June"], served)
    assert texts == ["", "Rome: in May; Oslo: in June"]  # what preceded the tool is withdrawn
    assert sorted((tmp_path / "booked").read_text().split()) == ["Oslo", "Rome"]  # at once
