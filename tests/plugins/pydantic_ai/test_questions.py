"""Deferred tool calls become questions, which are answered by id or in turn."""

from __future__ import annotations

import pytest
from a2a_adapters_pydantic_ai import adapt
from pydantic_ai import Agent, ApprovalRequired, CallDeferred, DeferredToolRequests, ModelRetry
from pydantic_ai.tools import RunContext

from a2a_adapters import Data, InputRequired, Rejected, TaskMetadata, ToolCall, ToolResult
from tests.plugins.pydantic_ai import support
from tests.plugins.pydantic_ai.support import Fake, agent, calling, results
from tests.support.adapters import Process, answer, ask, data, only, reply
from tests.support.agents import questions
from tests.support.agents.questions import outliving


class TestApprovals(questions.Approvals):
    support = support
    refused = "The tool call was denied."

    def check_tools(self, events):
        approved, refused = [event for event in events if isinstance(event, ToolResult)]
        assert approved.result == "Rome booked"
        assert "too cold" in refused.result


async def test_questions_outlive_their_process(tmp_path):
    assert await outliving(support, tmp_path, ["yes", "rather not"]) == [
        "Let me see.",
        "Rome booked; The user did not approve this call, and says: rather not",
    ]
    assert (tmp_path / "booked").read_text() == "Rome\n"


def asks(question: str) -> str:
    """Ask the user."""
    raise CallDeferred(kind="question")


def clerk(*calls, **options):
    """Return an agent that makes these calls at once and reports their results."""

    def act(messages):
        if done := results(messages):
            return "; ".join(f"{key}: {value}" for key, value in sorted(done.items()))
        return list(calls)

    made = Agent(Fake(act), name="clerk", tools=[asks], **options)
    made.booked = []

    @made.tool_plain(requires_approval=True)
    def book(city: str) -> str:
        """Book a trip."""
        made.booked.append(city)
        return f"booked {city}"

    @made.tool_plain
    def weigh(item: str) -> str:
        """Weigh an item on a scale that the caller has."""
        raise CallDeferred(metadata={"description": f"How heavy is the {item}?", "unit": "kg"})

    @made.tool
    def rent(ctx: RunContext, car: str, days: int = 0) -> str:
        """Rent a car."""
        if not ctx.tool_call_approved:
            schema = {"type": "integer", "minimum": 1}
            raise ApprovalRequired(
                {
                    "question": "How many days?",
                    "answer_argument": "days",
                    "response_schema": schema,
                }
            )
        return f"{car} for {days} days"

    return made


def booking(*cities):
    return [calling("book", call_id=f"call-{city}", city=city) for city in cities]


async def test_approvals_become_a_question_with_a_form():
    made = clerk(*booking("Rome"))
    adapter = adapt(made)
    events = await ask(adapter, "book")
    asked = only(events, InputRequired)
    assert asked.durable
    title = 'The agent wants to call book({"city":"Rome"}).'
    assert asked.prompt.startswith(title)
    assert data(events) == [
        {
            "call_id": "call-Rome",
            "kind": "approval",
            "tool": "book",
            "arguments": {"city": "Rome"},
        },
        {
            "response_schema": {
                "type": "object",
                "properties": {"call-Rome": {"type": "boolean", "title": title}},
                "required": ["call-Rome"],
            }
        },
    ]
    assert made.booked == []
    assert answer(await reply(adapter, "Approve!")) == "call-Rome: booked Rome"
    assert made.booked == ["Rome"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("no", "The tool call was denied."),
        ("Take Oslo", "The user did not approve this call, and says: Take Oslo"),
        ("yes, but Oslo", "The user did not approve this call, and says: yes, but Oslo"),
    ],
)
async def test_only_a_plain_yes_approves(words, told):
    made = clerk(*booking("Rome"))
    adapter = adapt(made)
    await ask(adapter, "book")
    assert answer(await reply(adapter, words)) == f"call-Rome: {told}"
    assert made.booked == []


SEVERAL = (
    *booking("Rome", "Oslo"),
    calling("asks", call_id="when", question="When?"),
    calling("weigh", call_id="weight", item="bag"),
)


@pytest.mark.parametrize("decision", [True, False])
async def test_decisions_of_ag_ui_front_ends(decision):
    made = clerk(*booking("Rome"))
    adapter = adapt(made)
    await ask(adapter, "book")
    await reply(adapter, Data({"approved": decision}))
    assert made.booked == ["Rome"] * decision


async def test_several_calls_are_answered_in_turn():
    made = clerk(*SEVERAL)
    adapter = adapt(made)
    asked = only(await ask(adapter, "go"), InputRequired)
    assert [line.partition(".")[0] for line in asked.prompt.splitlines()[:4]] == list("1234")
    assert "A text reply answers question 1" in asked.prompt
    for words, following in (("yes", "Oslo"), ("no", "When?"), ("May", "How heavy is the bag?")):
        asked = only(await reply(adapter, words), InputRequired)
        assert following in asked.prompt.splitlines()[0]
        assert made.booked == []
    done = answer(await reply(adapter, "12"))
    assert done == (
        "call-Oslo: The tool call was denied.; call-Rome: booked Rome; weight: 12; when: May"
    )


async def test_several_calls_are_answered_by_id():
    made = clerk(*SEVERAL)
    adapter = adapt(made)
    await ask(adapter, "go")
    again = await reply(adapter, Data({"weight": {"kg": 12}, "call-Rome": True}))
    assert [each["call_id"] for each in data(again)[:-1]] == ["call-Oslo", "when"]
    done = answer(await reply(adapter, Data({"call-Oslo": "too cold"}), Data({"when": "May"})))
    assert "says: too cold" in done
    assert "weight: {'kg': 12}" in done


async def test_answered_calls_take_no_second_answer():
    made = clerk(*booking("Rome", "Oslo"))
    adapter = adapt(made)
    await ask(adapter, "go")
    await reply(adapter, Data({"call-Rome": False}))
    again = only(await reply(adapter, Data({"call-Rome": True})), InputRequired)
    assert again.prompt.startswith("The question call-Rome is not open.")
    await reply(adapter, "yes")
    assert made.booked == ["Oslo"]


async def test_metadata_of_calls_is_sent():
    adapter = adapt(clerk(calling("weigh", call_id="weight", item="bag")))
    events = await ask(adapter, "go")
    assert only(events, InputRequired).prompt == "How heavy is the bag?"
    assert data(events)[0]["metadata"]["unit"] == "kg"
    assert answer(await reply(adapter, Data({"kg": 12}))) == "weight: {'kg': 12}"


async def test_answers_may_be_arguments_of_a_tool_that_asks():
    adapter = adapt(clerk(calling("rent", call_id="car", car="a bus")))
    events = await ask(adapter, "go")
    assert only(events, InputRequired).prompt == "How many days?"
    schema = data(events)[1]["response_schema"]["properties"]["car"]
    assert schema == {"type": "integer", "minimum": 1}
    assert answer(await reply(adapter, Data({"car": 3}))) == "car: a bus for 3 days"


async def test_unclear_replies_are_asked_again():
    adapter = adapt(clerk(*booking("Rome")))
    await ask(adapter, "book")
    for part, complaint in (
        (Data({"call-Oslo": True}), "That decides nothing."),
        (Data({"call-Rome": True, "call-Oslo": True}), "The question call-Oslo is not open."),
        (Data({"call-Rome": 1}), "That decides nothing."),
        (" ", "That decides nothing."),
    ):
        again = only(await reply(adapter, part), InputRequired)
        assert again.prompt.startswith(complaint)
    assert answer(await reply(adapter, Data(True))) == "call-Rome: booked Rome"
    adapter = adapt(clerk(calling("asks", question="When?")))
    await ask(adapter, "book")
    assert only(await reply(adapter, ""), InputRequired).prompt.startswith("That answers nothing.")


async def test_calls_are_answered_after_a_restart(url):
    async def process(step):
        async with Process(url, adapt(clerk(*SEVERAL))) as adapter:
            return await step(adapter)

    only(await process(lambda each: ask(each, "book")), InputRequired)
    given = Data({"call-Rome": True, "weight": 12})
    only(await process(lambda each: reply(each, given)), InputRequired)
    given = Data({"call-Oslo": True, "when": "May"})
    done = answer(await process(lambda each: reply(each, given)))
    assert done == "call-Oslo: booked Oslo; call-Rome: booked Rome; weight: 12; when: May"


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        (str, "done"),
        ([str, DeferredToolRequests], "done"),
        (list[str], calling("final_result", response=["May"])),
    ],
)
async def test_agents_of_any_output_type_ask(kind, ending):
    made = agent(calling("asks", question="When?"), ending, tools=[asks], output_type=kind)
    adapter = adapt(made)
    assert only(await ask(adapter, "book"), InputRequired).prompt == "When?"
    done = await reply(adapter, "May")
    assert answer(done) == "done" or data(done) == [["May"]]


async def test_validated_agents_ask_if_their_output_type_says_so():
    made = agent(
        calling("asks", question="When?"),
        "secret",
        "fine",
        tools=[asks],
        output_type=[str, DeferredToolRequests],
    )

    @made.output_validator
    def no_secret(output):
        if output == "secret":
            raise ModelRetry("Keep the secret.")
        return output

    adapter = adapt(made)
    assert only(await ask(adapter, "book"), InputRequired).prompt == "When?"
    assert answer(await reply(adapter, "May")) == "fine"


async def test_usage_includes_the_run_before_a_question():
    adapter = adapt(clerk(*booking("Rome")))
    asked = only(await ask(adapter, "book"), TaskMetadata).values["usage"]["output_tokens"]
    done = only(await reply(adapter, "yes"), TaskMetadata).values["usage"]["output_tokens"]
    assert done > asked


async def test_calls_are_reported_once():
    adapter = adapt(clerk(*booking("Rome")))
    before = await ask(adapter, "book", wants_progress=True)
    after = await reply(adapter, "yes", wants_progress=True)
    assert only([*before, *after], ToolCall) == ToolCall("call-Rome", "book", {"city": "Rome"})
    assert only([*before, *after], ToolResult) == ToolResult("call-Rome", "book", "booked Rome")


async def test_a_failed_answer_closes_the_question():
    made = agent(calling("asks", question="When?"), RuntimeError("broken"), tools=[asks])
    adapter = adapt(made)
    await ask(adapter, "book")
    with pytest.raises(RuntimeError):
        await reply(adapter, "May")
    assert "no longer open" in only(await reply(adapter, "May"), Rejected).reason


async def test_replies_to_agents_that_lost_their_tool_continue():
    adapter = adapt(clerk(*booking("Rome")), agent_for=lambda _: next(agents))
    agents = iter([clerk(*booking("Rome")), agent("The tool is gone.")])
    await ask(adapter, "book")
    assert answer(await reply(adapter, "yes")) == "The tool is gone."
