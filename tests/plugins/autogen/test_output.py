from __future__ import annotations

import json
from typing import Literal

import pytest
from a2a_adapters_autogen import adapt
from autogen_agentchat.conditions import FunctionalTermination
from autogen_agentchat.messages import (
    HandoffMessage,
    MultiModalMessage,
    StructuredMessage,
    TextMessage,
)
from autogen_agentchat.teams import MagenticOneGroupChat
from autogen_core import Image
from PIL import Image as Picture
from pydantic import BaseModel

from a2a_adapters import BlockedError, Data, File, Output, TaskMetadata, Text, TextDelta
from tests.plugins.autogen.support import (
    Custom,
    agent,
    answer,
    ask,
    calling,
    deltas,
    model,
    only,
    request,
    round_robin,
)


class Trip(BaseModel):
    city: str
    days: int
    kind: Literal["train", "plane"] = "train"


TRIP = '{"city": "Rome", "days": 3}'


async def test_structured_output_is_data_with_its_schema_and_no_text():
    adapter = adapt(lambda: agent(TRIP, output_content_type=Trip))
    events = await ask(adapter, "hi")
    assert deltas(events) == []
    output = only(events, Output)
    assert output.metadata == {"source": "helper"}
    assert output.parts == [
        Data({"city": "Rome", "days": 3, "kind": "train"}, schema=Trip.model_json_schema())
    ]


@pytest.mark.parametrize("final", ["last", "all"])
async def test_structured_output_of_a_team(final):
    def make():
        planner = agent(TRIP, name="planner", output_content_type=Trip)
        return round_robin(planner, custom_message_types=[StructuredMessage[Trip]])

    events = await ask(adapt(make, final=final), "hi")
    assert only(events, Output).parts[0].value["city"] == "Rome"
    assert deltas(events) == []


class Note(TextMessage):
    """A custom message type."""


@pytest.mark.parametrize("levels", [1, 2])
async def test_a_team_registers_the_message_types_of_its_members(levels):
    trip, rome = StructuredMessage[Trip], Trip(city="Rome", days=3)

    def make():
        members = [
            Custom(lambda _: Note(content="noted", source="noter"), "noter", [Note]),
            Custom(lambda _: trip(content=rome, source="guide"), "guide", [trip]),
        ]
        made = round_robin(*members)
        return round_robin(made, name="outer") if levels == 2 else made

    events = await ask(adapt(make, final="all"), "hi")
    assert "noted" in answer(events)
    assert only(events, Output).parts[0].value["city"] == "Rome"


async def test_data_of_checked_teams_waits_as_text_does():
    trip = StructuredMessage[Trip]

    def block(messages):
        if any(isinstance(message, trip) for message in messages):
            raise BlockedError
        return False

    def make():
        rome = trip(content=Trip(city="Rome", days=3), source="guide")
        guide = Custom(lambda _: rome, "guide", [trip])
        return round_robin(guide, termination_condition=FunctionalTermination(block))

    events = adapt(make, final="all").stream(request("hi"))
    with pytest.raises(BlockedError):
        await anext(events)


async def test_images_are_files_between_the_texts():
    image = Image(Picture.new("RGB", (2, 1), "red"))

    def paint(_):
        return MultiModalMessage(content=["look:", image, "nice?"], source="custom")

    events = await ask(adapt(lambda: Custom(paint, produces=[MultiModalMessage])), "hi")
    before, file, after = only(events, Output).parts
    assert (before, after) == (Text("look:"), Text("nice?"))
    assert isinstance(file, File)
    assert file.media_type == "image/png"
    assert file.content.startswith(b"\x89PNG")


async def test_usage_is_summed_and_reported():
    def lookup() -> str:
        """Look it up."""
        return "42"

    def make():
        return agent(calling("lookup"), "it is 42", tools=[lookup], reflect_on_tool_use=True)

    usage = only(await ask(adapt(make), "hi"), TaskMetadata).values["usage"]
    assert usage["input_tokens"] > 3
    assert usage["output_tokens"] > 4
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


async def test_a_tool_result_may_be_the_answer():
    def lookup() -> str:
        """Look it up."""
        return "42"

    adapter = adapt(lambda: agent(calling("lookup"), tools=[lookup]))
    assert answer(await ask(adapter, "hi")) == "42"


@pytest.mark.parametrize("in_team", [False, True])
async def test_exceptions_of_tools_are_not_in_the_answer(in_team):
    def lookup() -> str:
        """Look it up."""
        raise RuntimeError("password hunter2")

    def make():
        helper = agent(calling("lookup"), tools=[lookup])
        return round_robin(helper) if in_team else helper

    events = await ask(adapt(make), "hi", wants_progress=True)
    assert "hunter2" not in str(events)
    assert answer(events) == "The tool lookup failed."


async def test_a_team_without_termination_stops_at_the_message_limit(caplog):
    def make():
        return round_robin(agent(*["again"] * 9), max_turns=None)

    events = await ask(adapt(make, max_messages=4), "hi")
    assert answer(events) == "again"
    assert "messages 4 reached" in only(events, TaskMetadata).values["stop_reason"]
    assert caplog.text.count("no termination condition") == 1


async def test_a_nested_team_ends():
    def make():
        inner = round_robin(agent(*["again"] * 9), max_turns=None, name="inner")
        return round_robin(inner)

    assert answer(await ask(adapt(make, max_messages=4), "hi")) == "again"


async def test_a_shared_team_ends_in_its_second_run_too():
    team = round_robin(agent(*["again"] * 9), max_turns=None)
    await team.save_state()  # makes its manager
    adapter = adapt(team, max_messages=3)
    assert answer(await ask(adapter, "hi")) == "again"
    assert answer(await ask(adapter, "hi")) == "again"


async def test_a_handoff_within_the_team_is_the_answer_of_last_resort():
    def hand_over(_):
        return HandoffMessage(content="your turn", target="second", source="first")

    def make(turns):
        first = Custom(hand_over, "first", produces=[HandoffMessage])
        return round_robin(Custom(lambda _: "said", "second"), first, max_turns=turns)

    assert answer(await ask(adapt(lambda: make(2)), "hi")) == "said"
    alone = adapt(
        lambda: round_robin(
            Custom(hand_over, "first", produces=[HandoffMessage]),
            Custom(len, "second"),
            max_turns=1,
        )
    )
    assert answer(await ask(alone, "hi")) == "your turn"


async def test_the_final_answer_of_magentic_one_is_the_answer():
    yes = {"answer": True, "reason": "done"}
    ledger = {
        "is_request_satisfied": yes,
        "is_in_loop": {**yes, "answer": False},
        "is_progress_being_made": yes,
        "next_speaker": {"answer": "helper", "reason": "r"},
        "instruction_or_question": {"answer": "go on", "reason": "r"},
    }

    def make() -> MagenticOneGroupChat:
        planner = model("the facts", "the plan", json.dumps(ledger), "the answer")
        return MagenticOneGroupChat([agent("unused")], model_client=planner)

    events = await ask(adapt(make), "hi")
    assert answer(events) == "the answer"
    assert only(events, TaskMetadata).values["source"] == "MagenticOneOrchestrator"


async def test_an_empty_message_is_not_an_answer():
    events = await ask(adapt(lambda: Custom(lambda _: " ")), "hi")
    assert not [event for event in events if isinstance(event, TextDelta | Output)]
