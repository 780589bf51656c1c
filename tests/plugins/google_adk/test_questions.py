"""What a run waits for becomes a question, which is answered at once, by id or in turn."""

from __future__ import annotations

import pytest
from a2a_adapters_google_adk import adapt
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.events.request_input import RequestInput
from google.adk.runners import InMemoryRunner
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import Workflow, node
from google.genai.types import Blob, Part
from pydantic import BaseModel

from a2a_adapters import Data, File, InputRequired, Output, Text, ToolCall, ToolResult
from a2a_adapters.conversing import APPROVAL_CHOICES
from a2a_adapters.plugin import Factory
from tests.plugins.google_adk import support
from tests.plugins.google_adk.support import Fake, agent, book, calling, composed, results, script
from tests.support.adapters import answer, ask, data, only, reply
from tests.support.agents import questions
from tests.support.agents.questions import clerk, ids, outliving


class TestConfirmations(questions.Approvals):
    support = support
    refused = "rejected"

    def check_tools(self, events):
        shown = [(event.name, event.is_error) for event in events if isinstance(event, ToolResult)]
        assert shown == [("book", False), ("book", True)]

    async def test_calls_have_no_results_before_they_are_made(self):
        events = await ask(adapt(self.asking()), "book", wants_progress=True)
        assert not [event for event in events if isinstance(event, ToolResult)]


async def test_questions_outlive_their_process(tmp_path):
    assert await outliving(support, tmp_path, ["yes", "rather not"]) == [
        "Let me see.",
        "Rome booked; The user did not approve this call, and says: rather not",
    ]
    assert (tmp_path / "booked").read_text() == "Rome\n"


async def test_a_sequence_goes_on_after_the_answer():
    team = composed(
        SequentialAgent, clerk(support, [], name="first"), agent("the end", name="last")
    )
    adapter = adapt(team)
    first, second = ids(await ask(adapter, "book"))
    assert answer(await reply(adapter, Data({first: True, second: True}))) == "the end"


async def test_runners_keep_the_run_that_waits():
    log = []
    runner = InMemoryRunner(agent=clerk(support, log))
    first, second = ids(await ask(adapt(runner), "book"))
    adapter = adapt(runner)
    await ask(adapter, "book", context_id="another")
    first, second = ids(await ask(adapter, "book"))
    assert "Rome booked" in answer(await reply(adapter, Data({first: True, second: "too cold"})))
    assert log == ["Rome"]


async def test_tools_may_ask_for_a_text():
    def pick(tool_context: ToolContext) -> str:
        """Pick a seat."""
        if not (said := tool_context.tool_confirmation):
            tool_context.request_confirmation(hint="Which seat?", payload="")
            return "waits"
        return str(said.payload)

    model = Fake(lambda contents: results(contents).get("c1") or calling("pick"))
    adapter = adapt(LlmAgent(name="clerk", model=model, tools=[pick]))
    events = await ask(adapter, "go")
    assert "Which seat?" in only(events, InputRequired).prompt
    assert answer(await reply(adapter, "12 A")) == "12 A"


def waiting():
    """Return an agent that waits for two tickets and one confirmation."""

    def ticket(topic: str) -> dict[str, str]:
        """Open a ticket."""
        return {"status": "open"}

    def pay() -> str:
        """Pay."""
        return "paid"

    def act(contents):
        if not (done := results(contents)):
            return [calling("ticket", "t1", topic="a"), calling("pay", "p1")]
        return "; ".join(f"{key}: {done[key]}" for key in sorted(done))

    tools = [LongRunningFunctionTool(ticket), FunctionTool(pay, require_confirmation=True)]
    return LlmAgent(name="clerk", model=Fake(act), tools=tools)


async def test_results_of_long_running_tools_are_asked_for():
    adapter = adapt(waiting())
    events = await ask(adapter, "go", wants_progress=True)
    assert [event.name for event in events if isinstance(event, ToolCall)] == ["ticket", "pay"]
    properties = data(events)[-1]["response_schema"]["properties"]
    assert "What is the result of ticket" in properties["t1"]["title"]
    [confirmation] = properties.keys() - {"t1"}
    events = await reply(adapter, Data({"t1": {"result": "done"}, confirmation: True}))
    assert answer(events).endswith("p1: paid; t1: done")


class Trip(BaseModel):
    city: str


async def test_workflows_ask_for_input_with_a_form():
    def ask_city(node_input: str):
        yield RequestInput(interrupt_id="q1", message="Which city?", response_schema=Trip)

    def end(node_input: Trip) -> str:
        return f"to {node_input.city}"

    adapter = adapt(Workflow(name="flow", edges=[("START", ask_city, end)]))
    events = await ask(adapter, "go")
    assert only(events, InputRequired).prompt == "Which city?"
    form = data(events)[-1]["response_schema"]["properties"]["q1"]
    assert list(form["properties"]) == ["city"]
    for wrong in ("Rome", Data({"town": "Rome"}), " "):
        events = await reply(adapter, wrong)
        assert only(events, InputRequired).prompt.startswith("The reply "), "it is asked again"
    assert answer(await reply(adapter, Data({"city": "Rome"}))) == "to Rome"


async def test_workflows_ask_for_text():
    def ask_city(node_input: str):
        yield RequestInput(interrupt_id="q1", message="Which city?")

    def end(node_input: str) -> str:
        return f"to {node_input}"

    adapter = adapt(Workflow(name="flow", edges=[("START", ask_city, end)]))
    await ask(adapter, "go")
    assert answer(await reply(adapter, "Rome")) == "to Rome"


async def test_nodes_of_workflows_ask_for_confirmations():
    def publish(node_input: str) -> str:
        return f"published {node_input}"

    def make():
        asking = node(publish, require_confirmation=True)
        return Workflow(name="flow", edges=[("START", agent("a draft", name="writer"), asking)])

    adapter = adapt(Factory(make, make()))
    events = await ask(adapter, "go")
    assert only(events, InputRequired).prompt == (
        f'The agent wants to call publish({{"node_input":"a draft"}}).\n{APPROVAL_CHOICES}'
    )
    assert answer(await reply(adapter, "yes")) == "published a draft"
    await ask(adapter, "go", context_id="other")
    events = await reply(adapter, "no, it is too short", context_id="other")
    assert data(events) == [{"error": "This tool call is rejected."}]


PIXELS = Part(inline_data=Blob(data=b"pixels", mime_type="image/png"))
SEEN = [Text("Look:"), File(content=b"pixels", media_type="image/png"), Text("A cat.")]


def painter():
    painted = [Part(text="Look:"), PIXELS, Part(text="A cat.")]
    return LlmAgent(name="painter", model=Fake(lambda _: painted))


def publishing():
    """Return a painter, and an agent that asks whether to publish what that has painted."""
    act = script(calling("book", city="Rome"), "Published.")
    publisher = LlmAgent(name="publisher", model=act, tools=[book([])])
    return composed(SequentialAgent, painter(), publisher)


def publishing_by_nodes():
    def publish(node_input: str) -> str:
        return "Published."

    asking = node(publish, require_confirmation=True)
    return Workflow(name="flow", edges=[("START", painter(), asking)])


@pytest.mark.parametrize("make", [publishing, publishing_by_nodes])
async def test_pictures_of_another_agent_are_sent_with_the_question_once(make):
    adapter = adapt(make())
    asked = await ask(adapter, "go")
    assert isinstance(asked[-1], InputRequired)
    assert [part for event in asked if isinstance(event, Output) for part in event.parts] == SEEN
    published = await reply(adapter, "yes")
    assert answer(published) == "Published."
    assert not [event for event in published if isinstance(event, Output)]
