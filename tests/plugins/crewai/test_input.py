from __future__ import annotations

import pytest
from a2a.types import TaskState
from a2a_adapters_crewai import adapt
from crewai import Crew
from crewai.flow import Flow, start
from pydantic import BaseModel

from a2a_adapters import Data, File, InvalidInputError, TargetError, Text, build_app
from a2a_adapters.plugin import Turn
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.crewai.support import Scripted, agent, answer, ask, crew, request, task, value_of

TWO = "topic=<{topic}> tone=<{tone}>"


def two(**options):
    """Return a served crew with two placeholders, and its model."""
    model = Scripted(lambda prompt: prompt)
    writer = agent(model)
    return adapt(Crew(agents=[writer], tasks=[task(writer, TWO)]), **options), model


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["cats"], "topic=<cats>"),
        (["cats", "and dogs"], "topic=<cats\nand dogs>"),
        ([Data({"topic": "cats"})], "topic=<cats>"),
        ([Data({"topic": 3})], "topic=<3>"),
        ([Data({"topic": 3.5})], "topic=<3.5>"),
        ([Data({"topic": {"a": [1, None, True]}})], "topic=<{'a': [1, None, True]}>"),
        (["a {brace}, {topic} and }{"], "topic=<a {brace}, {topic} and }{>"),
    ],
)
async def test_the_message_fills_the_placeholder(parts, expected):
    model = Scripted("Final Answer: done")
    writer = agent(model)
    await ask(adapt(Crew(agents=[writer], tasks=[task(writer)])), *parts)
    assert expected in model.seen[0]


async def test_numbers_survive_the_wire():
    from a2a.types import Part
    from google.protobuf import json_format, struct_pb2

    data = json_format.ParseDict({"topic": 3}, struct_pb2.Value())
    async with running(build_app(crew())) as url, connect(url) as client:
        assert answer_of(await send(client, user_message("", Part(data=data)))) == "3"


@pytest.mark.parametrize(
    ("options", "parts", "expected"),
    [
        ({}, [Data({"topic": "cats", "tone": "dry"})], "topic=<cats> tone=<dry>"),
        ({}, [Data({"topic": "cats"}), "dry"], "topic=<cats> tone=<dry>"),
        ({"text_key": "topic"}, ["cats", Data({"tone": "dry"})], "topic=<cats> tone=<dry>"),
        ({"history_key": "tone"}, ["cats"], "topic=<cats> tone=<>"),
        (
            {"input": lambda asked: {"topic": asked.text, "tone": asked.owner}},
            ["cats"],
            "topic=<cats> tone=<ann>",
        ),
    ],
)
async def test_several_placeholders(options, parts, expected):
    adapter, model = two(**options)
    await ask(adapter, *parts, owner="ann")
    assert expected in model.seen[0]


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        (["cats"], "text alone is not enough.*topic"),
        ([Data({"topic": "cats"})], "missing: tone.*tone \\(required\\)"),
        ([Data({"topic": "cats", "tone": "dry", "admin": True})], "unknown: admin"),
        ([Data({"topic": "cats", "tone": "dry"}), "more"], "none is left for the text"),
        ([Data(["cats"])], "must be an object"),
        ([Text("cats"), File(content=b"x")], "no files|not enough"),
    ],
)
def test_an_invalid_message_is_refused_before_any_model_call(parts, complaint):
    adapter, model = two()
    with pytest.raises(InvalidInputError, match=complaint):
        adapter.stream(request(*parts))
    assert model.seen == []


def test_a_crew_without_placeholders_is_refused():
    with pytest.raises(TargetError, match=r"no placeholder such as \{message\}"):
        adapt(crew(description='Write the daily report as {"a": 1}'))


@pytest.mark.parametrize("option", ["text_key", "history_key"])
def test_an_option_with_an_unknown_placeholder_is_refused(option):
    with pytest.raises(TargetError, match=f"{option}: there is no 'past', only tone, topic"):
        two(**{option: "past"})


def add_tone(inputs):
    return {**inputs, "tone": "dry", "topic": inputs["message"]}


async def test_a_callback_can_provide_the_inputs():
    writer = agent(Scripted(lambda prompt: f"Final Answer: {prompt}"))
    crew = Crew(agents=[writer], tasks=[task(writer, TWO)], before_kickoff_callbacks=[add_tone])
    events = await ask(adapt(crew, text_key="message"), "cats", Data({"more": 1}))
    assert "topic=<cats> tone=<dry>" in answer(events)


def with_callback(callback, description=TWO):
    writer = agent(Scripted(lambda prompt: f"Final Answer: {prompt}"))
    target = Crew(
        agents=[writer],
        tasks=[task(writer, description)],
        before_kickoff_callbacks=[callback],
    )
    return adapt(target)


async def test_text_fills_the_name_that_callbacks_leave_open():
    def set_tone(inputs):
        return {**inputs, "tone": "dry"}

    assert "topic=<cats> tone=<dry>" in answer(await ask(with_callback(set_tone), "cats"))


@pytest.mark.parametrize(
    "callback",
    [
        lambda inputs: inputs,
        lambda inputs: {**inputs, "topic": inputs["topic"].title()},
        lambda inputs: {"other": inputs["tone"]},
    ],
)
async def test_inputs_missing_after_the_callbacks_are_refused(callback):
    async with running(build_app(with_callback(callback))) as url, connect(url) as client:
        task = await send(client, user_message("cats"))
    assert task.status.state == TaskState.TASK_STATE_REJECTED
    (part,) = task.status.message.parts
    assert part.text.startswith("missing: to")
    assert "Send a data part with: tone, topic" in part.text


async def test_an_input_that_a_callback_handles_as_missing_is_not_required():
    def add_both(inputs):
        try:
            topic = inputs["topic"]
        except KeyError:
            topic = "nothing"
        return {**inputs, "topic": topic, "tone": "dry"}

    events = await ask(with_callback(add_both), Data({"other": 1}))
    assert "topic=<nothing> tone=<dry>" in answer(events)


@pytest.mark.parametrize("path", ["{topic}.md", "reports/{topic}/all.md"])
def test_output_files_with_placeholders_are_refused(path):
    writer = agent(Scripted("Final Answer: x"))
    target = Crew(agents=[writer], tasks=[task(writer, output_file=path)])
    with pytest.raises(TargetError, match=r"output_file.*callers would choose"):
        adapt(target)
    with pytest.raises(TargetError, match=r"output_file.*callers would choose"):
        adapt(target, input=lambda request: {"topic": request.text})


async def test_a_fixed_output_file_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    writer = agent(Scripted(value_of("topic")))
    adapter = adapt(Crew(agents=[writer], tasks=[task(writer, output_file="cats.md")]))
    assert answer(await ask(adapter, "cats")) == "cats"
    assert (tmp_path / "cats.md").read_text() == "cats"


async def test_the_history_is_an_input():
    adapter = adapt(
        crew(value_of("past"), description="topic=<{topic}> past=<{past}>"), history_key="past"
    )
    assert adapter.uses_history
    said = (Turn("user", [Text("hi")]), Turn("agent", [Text("hello"), Data({"a": 1})]))
    events = await ask(adapter, "and now?", history=said)
    assert answer(events) == 'user: hi\nagent: hello\n{"a":1}'


async def test_a_history_placeholder_receives_the_history():
    adapter = adapt(crew(value_of("history"), description="topic=<{topic}> history=<{history}>"))
    assert adapter.uses_history
    said = (Turn("user", [Text("hi")]), Turn("agent", [Text("hello")]))
    events = await ask(adapter, "and now?", history=said)
    assert answer(events) == "user: hi\nagent: hello"
    with pytest.raises(InvalidInputError, match="unknown: history"):
        await ask(adapter, "and now?", Data({"history": "made up"}))


async def test_a_history_field_receives_the_history():
    class Talk(BaseModel):
        message: str = ""
        history: str = ""

    class Talking(Flow[Talk]):
        suppress_flow_events: bool = True

        @start()
        def talk(self):
            return f"{self.state.history} / {self.state.message}"

    said = (Turn("user", [Text("hi")]),)
    assert answer(await ask(adapt(Talking), "now", history=said)) == "user: hi / now"


async def test_a_single_placeholder_receives_the_text_whatever_its_name():
    adapter = adapt(crew(value_of("history"), description="history=<{history}>"))
    assert answer(await ask(adapter, "Rome")) == "Rome"


async def test_conversations_over_the_wire_are_isolated():
    def remember(prompt):
        return f"Final Answer: before: {value_of('past')(prompt)[14:]}"

    target = crew(remember, description="{topic} past=<{past}>")
    async with (
        running(build_app(adapt(target, history_key="past"))) as url,
        connect(url, user="ann") as ann,
        connect(url, user="bob") as bob,
    ):
        await send(ann, user_message("I am Ann", context_id="one"))
        second = await send(ann, user_message("who am I?", context_id="one"))
        other = await send(bob, user_message("who am I?", context_id="one"))
    assert answer_of(second) == "before: user: I am Ann\nagent: before:"
    assert answer_of(other) == "before:"


class Trip(BaseModel):
    city: str = "nowhere"
    days: int = 1
    past: str = ""


class Plan(Flow[Trip]):
    suppress_flow_events: bool = True

    @start()
    def plan(self):
        return f"{self.state.days} in {self.state.city} {self.state.past}".strip()


class Untyped(Flow):
    suppress_flow_events: bool = True

    @start()
    def show(self):
        return {key: value for key, value in self.state.items() if key != "id"}


async def test_the_message_sets_the_state_of_a_flow():
    assert answer(await ask(adapt(Plan), Data({"city": "Rome", "days": 3}))) == "3 in Rome"
    assert answer(await ask(adapt(Plan, text_key="city"), "Rome")) == "1 in Rome"
    adapter = adapt(Plan, text_key="city", history_key="past")
    assert answer(await ask(adapter, "Rome", history=(Turn("user", [Text("hi")]),))).endswith("hi")


async def test_a_flow_without_a_state_type_accepts_any_input():
    (output, *_) = await ask(adapt(Untyped), "hello", Data({"n": 3}))
    assert output.parts[0].value == {"message": "hello", "n": 3}


@pytest.mark.parametrize(
    ("flow", "parts", "complaint"),
    [
        (Plan, ["Rome"], "text alone is not enough.*city, days, past"),
        (Plan, [Data({"town": "Rome"})], "unknown: town"),
        (Plan, [Data({"days": "many"})], "days: Input should be a valid integer"),
        (Plan, [Data({"id": "another caller's"})], "unknown: id"),
        (Untyped, [Data({"id": "another caller's"})], "unknown: id"),
    ],
)
def test_a_flow_refuses_inputs_that_its_state_rejects(flow, parts, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        adapt(flow).stream(request(*parts))
