"""The input and output of served agents."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass

import pytest
from a2a_adapters_openai_agents import adapt
from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    RunConfig,
    RunContextWrapper,
    function_tool,
    handoff,
)
from agents.run import ModelInputData
from openai import AsyncOpenAI
from openai.types.responses import ResponseReasoningItem
from openai.types.responses.response_output_item import ImageGenerationCall
from openai.types.responses.response_reasoning_item import Summary
from pydantic import BaseModel

from a2a_adapters import (
    Data,
    File,
    Output,
    Progress,
    TaskMetadata,
    Text,
    TextDelta,
    ToolCall,
    ToolResult,
)
from a2a_adapters.plugin import AgentFailedError, AnswerText
from a2a_adapters.testing import running
from tests.plugins.openai_agents import support
from tests.plugins.openai_agents.support import Fake, agent, calling, said, script
from tests.support.adapters import answer, ask, deltas, only
from tests.support.agents import serving
from tests.support.agents.isolation import check_repeating
from tests.support.openai_endpoint import ANSWER, endpoint
from tests.support.real_model import EXAMPLE, address, check_it_streams

PNG = File(content=b"png", media_type="image/png", filename="a.png")
PDF = File(content=b"pdf", filename="report.pdf")


class Weather(BaseModel):
    city: str
    degrees: int


@dataclass
class Forecast:
    days: list[Weather]


@function_tool
def look_up(city: str) -> str:
    """Look up the weather."""
    return f"rain in {city}"


@function_tool
def breaks() -> str:
    """Fail."""
    raise RuntimeError("hunter2")


@function_tool
def who(wrapper: RunContextWrapper[str]) -> str:
    """Return the caller."""
    return wrapper.context


@function_tool(needs_approval=True)
def book(city: str) -> str:
    """Book a trip."""
    return f"A trip to {city} is booked."


def about(events):
    return only(events, TaskMetadata).values


async def test_text_is_streamed_and_usage_reported():
    events = await ask(adapt(agent("one two three")), "hi")
    assert deltas(events) == ["one", " two", " three"]
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    assert about(events) == {"source": "helper", "usage": usage}


async def test_models_without_streaming():
    quiet = Agent(name="helper", model=script("one two", streams=False))
    assert deltas(await ask(adapt(quiet), "hi")) == ["one two"]


@pytest.mark.parametrize("streams", [True, False])
async def test_messages_are_separate_paragraphs(streams):
    model = script(["first", "second"], ["third", calling("look_up", city="Rome")], "fourth")
    model._streams = streams
    made = Agent(name="helper", model=model, tools=[look_up])
    assert answer(await ask(adapt(made), "hi")) == "first\n\nsecond"
    assert answer(await ask(adapt(made), "hi")) == "third\n\nfourth"


async def test_text_data_images_and_files_are_one_message():
    model = script("ok")
    parts = (Text("look"), Data({"n": 1}), PNG, PDF)
    await ask(adapt(Agent(name="helper", model=model)), *parts)
    [[message]] = model.heard
    encoded = [base64.b64encode(content).decode() for content in (b"png", b"pdf")]
    assert message["content"] == [
        {"type": "input_text", "text": "look"},
        {"type": "input_text", "text": '{"n":1}'},
        {
            "type": "input_image",
            "image_url": f"data:image/png;base64,{encoded[0]}",
            "detail": "auto",
        },
        {
            "type": "input_file",
            "file_data": f"data:application/pdf;base64,{encoded[1]}",
            "filename": "report.pdf",
        },
    ]


class TestInput(serving.Input):
    support = support


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Weather, '{"city":"Rome","degrees":20}', Weather(city="Rome", degrees=20)),
        (list[str], '{"response":["a","b"]}', ["a", "b"]),
        (Forecast, '{"response":{"days":[]}}', Forecast([])),
    ],
)
async def test_output_types_are_data_with_a_schema(kind, text, value):
    events = await ask(adapt(agent(text, output_type=kind)), "hi")
    [part] = only(events, Output).parts
    assert part.value == value
    assert part.schema["type"] in {"object", "array"}
    assert not deltas(events)


async def test_final_tools_may_return_data():
    @function_tool
    def measure() -> Weather:
        return Weather(city="Rome", degrees=20)

    made = agent(
        calling("measure"),
        tools=[measure],
        tool_use_behavior="stop_on_first_tool",
        output_type=list[int],
    )
    [part] = only(await ask(adapt(made), "hi"), Output).parts
    assert part == Data(Weather(city="Rome", degrees=20))


async def test_exceptions_of_tools_are_not_sent():
    steps = [calling("breaks"), "It did not work."]
    events = await ask(adapt(agent(*steps, tools=[breaks])), "hi", wants_progress=True)
    assert only(events, ToolResult) == ToolResult("c1", "breaks", None, is_error=True)
    made = agent(calling("breaks"), tools=[breaks], tool_use_behavior="stop_on_first_tool")
    assert answer(await ask(adapt(made), "hi")) == "The tool failed."


async def test_images_of_hosted_tools_are_files():
    made = ImageGenerationCall(
        id="i",
        result=base64.b64encode(b"png").decode(),
        status="completed",
        type="image_generation_call",
    )
    events = await ask(adapt(agent([made, "There."])), "draw")
    image = File(content=b"png", media_type="image/png")
    assert only(events, Output) == Output([image], metadata={"source": "helper"})
    assert answer(events) == "There."


async def test_tools_handoffs_and_thoughts_are_progress():
    expert = agent("It rains.", name="expert", handoff_description="Knows the weather.")
    thought = ResponseReasoningItem(
        id="t", summary=[Summary(text="hm", type="summary_text")], type="reasoning"
    )
    made = agent(
        [thought, calling("look_up", city="Rome")],
        calling("transfer_to_expert", call_id="c2"),
        tools=[look_up],
        handoffs=[expert],
    )
    events = await ask(adapt(made), "hi", wants_progress=True)
    assert [event for event in events if not isinstance(event, TextDelta | AnswerText)] == [
        Progress("hm", {"kind": "thought", "source": "helper"}),
        ToolCall("c1", "look_up", {"city": "Rome"}),
        ToolResult("c1", "look_up", "rain in Rome"),
        Progress("handoff to expert", {"kind": "handoff", "source": "helper", "target": "expert"}),
        only(events, TaskMetadata),
    ]
    assert answer(events) == "It rains."
    assert about(events)["source"] == "expert"


async def test_progress_is_off_by_default():
    made = agent(calling("look_up", city="Rome"), "It rains.", tools=[look_up])
    events = await ask(adapt(made), "hi")
    assert {type(event) for event in events} == {TextDelta, AnswerText, TaskMetadata}


async def test_runs_over_the_turn_limit_fail():
    made = Agent(
        name="helper",
        model=Fake(lambda items: calling("look_up", call_id=f"c{len(items)}", city="Rome")),
        tools=[look_up],
    )
    with pytest.raises(AgentFailedError, match="did not finish within 3 calls of its model"):
        await ask(adapt(made, max_turns=3), "hi")


async def test_tools_receive_the_context_of_their_run():
    made = agent(calling("who"), tools=[who], tool_use_behavior="stop_on_first_tool")
    adapter = adapt(made, context=lambda asked: f"{asked.owner} asks")
    assert answer(await ask(adapter, "hi", owner="ann")) == "ann asks"


def test_cards_have_tools_and_handoffs_but_no_instructions():
    expert = Agent(name="expert", handoff_description="Knows the weather.")
    made = Agent(
        name="helper",
        instructions="hunter2",
        tools=[look_up],
        handoffs=[expert, handoff(Agent(name="other"))],
    )
    about = adapt(made).describe()
    assert about.name == "helper"
    assert about.description == "The agent helper."
    assert [(skill.id, skill.description) for skill in about.skills][:2] == [
        ("look_up", "Look up the weather."),
        ("expert", "Knows the weather."),
    ]
    assert about.skills[2].id == "other"
    assert "hunter2" not in str(about)


@function_tool
async def repeat(wrapper: RunContextWrapper[str], words: str) -> str:
    """Repeat the text after yielding to other runs."""
    for _ in range(3):
        await asyncio.sleep(0)
    return f"{wrapper.context}: {words}"


def listening():
    """Return agents that hand over, call a tool, and repeat the conversation."""

    def model(items):
        if (
            items[-1].get("type") == "function_call_output"
            and "assistant" not in items[-1]["output"]
        ):
            return items[-1]["output"]
        return calling("repeat", call_id=f"r{len(items)}", words=" ".join(said(items)))

    listener = Agent(name="listener", model=Fake(model), tools=[repeat])
    front = Fake(lambda items: calling("transfer_to_listener", call_id=f"t{len(items)}"))
    return Agent(name="front", model=front, handoffs=[listener])


async def test_concurrent_callers_are_isolated(any_storage):
    target = adapt(listening(), context=lambda asked: asked.owner)
    await check_repeating(any_storage, target, questions=0)


def after_the_example(asked):
    return ModelInputData(input=[*EXAMPLE, *asked.model_data.input], instructions=None)


@pytest.mark.model
@pytest.mark.timeout(300)
async def test_a_real_model_streams_its_answer():
    config = RunConfig(
        call_model_input_filter=after_the_example,
        model_settings=ModelSettings(
            temperature=0, max_tokens=24, extra_args={"stop": ["\n", "<"]}
        ),
    )
    async with AsyncOpenAI(base_url=address(), api_key="none") as client:
        agent = Agent(name="guide", model=OpenAIChatCompletionsModel("local", client))
        await check_it_streams(adapt(agent, run_config=config))


@pytest.fixture
async def api(monkeypatch):
    app = endpoint()
    async with running(app) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield app


async def test_agents_with_a_model_name(api):
    adapter = adapt(Agent(name="helper", instructions="Be kind.", model="gpt-none"))
    assert deltas(await ask(adapter, "hi")) == ["Rome", " is", " fine."] == _words(ANSWER)
    await ask(adapter, "look", File(content=b"png", media_type="image/png"))
    first, second = api.state.asked
    assert first["instructions"] == "Be kind."
    assert [item["role"] for item in second["input"]] == ["user", "assistant", "user"]
    assert second["input"][-1]["content"][1]["type"] == "input_image"


def _words(text):
    first, *others = text.split(" ")
    return [first, *(f" {word}" for word in others)]
