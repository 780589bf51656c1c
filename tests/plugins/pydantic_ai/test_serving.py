"""The input and output of served agents."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from a2a_adapters_pydantic_ai import adapt
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    BinaryContent,
    BinaryImage,
    CustomEvent,
    FilePart,
    FunctionToolset,
    ModelResponse,
    NativeOutput,
    PromptedOutput,
    RunContext,
    TextOutput,
    TextPart,
    Tool,
    ToolOutput,
)
from pydantic_ai.agent import WrapperAgent
from pydantic_ai.models import CompletedStreamedResponse
from pydantic_ai.models.function import DeltaThinkingPart, FunctionModel

from a2a_adapters import (
    AgentRequest,
    Data,
    File,
    NoAdapterError,
    Output,
    Progress,
    TargetError,
    TaskMetadata,
    Text,
    TextDelta,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.plugin import AnswerText
from a2a_adapters.testing import connect, running, send, user_message
from tests.plugins.pydantic_ai import support
from tests.plugins.pydantic_ai.support import Fake, agent, calling, said, script
from tests.support.adapters import answer, ask, deltas, only, request
from tests.support.agents import serving
from tests.support.agents.isolation import check_repeating, listening
from tests.support.outliving import Blocking, check_it_learns_of_cancellation
from tests.support.real_model import EXAMPLE, address, check_it_streams

PNG = File(content=b"png", media_type="image/png", filename="a.png")
PDF = File(content=b"pdf", filename="report.pdf")


class Weather(BaseModel):
    city: str
    degrees: int


@dataclass
class Forecast:
    days: list[Weather]


@dataclass(kw_only=True)
class LookingEvent(CustomEvent):
    city: str


def with_tool(*answers, **options):
    """Return an agent with a tool that looks the weather up."""
    made = agent(*answers, **options)

    @made.tool
    async def look_up(ctx: RunContext, city: str) -> str:
        """Look up the weather."""
        await ctx.emit(LookingEvent(city=city))
        return f"rain in {city}"

    return made


async def test_text_is_streamed_and_usage_reported():
    events = await ask(adapt(agent("one two three")), "hi")
    assert deltas(events) == ["one", " two", " three"]
    usage = only(events, TaskMetadata).values["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0


async def test_responses_are_separate_paragraphs():
    made = with_tool(["Let me see.", calling("look_up", city="Rome")], "It rains.")
    assert answer(await ask(adapt(made), "hi")) == "Let me see.\n\nIt rains."


async def test_text_data_images_and_files_are_one_prompt():
    model = script("ok")
    await ask(adapt(Agent(model)), Text("look"), Data({"n": 1}), PNG, PDF)
    text, data, image, document = said(model.heard[0])[0]
    assert (text, data) == ("look", '{"n":1}')
    assert isinstance(image, BinaryContent)
    assert (image.data, image.media_type) == (b"png", "image/png")
    assert (document.data, document.media_type) == (b"pdf", "application/pdf")


class TestInput(serving.Input):
    support = support


def shout(text: str) -> str:
    return text.upper()


TEXT = '{"city":"Rome","degrees":20}'
ROME = Weather(city="Rome", degrees=20)


@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        (Weather, calling("final_result", city="Rome", degrees=20), ROME),
        (ToolOutput(Weather, name="tell"), calling("tell", city="Rome", degrees=20), ROME),
        (NativeOutput(Weather), TEXT, ROME),
        (PromptedOutput(Weather), TEXT, ROME),
        (list[str], calling("final_result", response=["a", "b"]), ["a", "b"]),
        (Forecast, calling("final_result", days=[]), Forecast([])),
    ],
)
async def test_output_types_are_data_with_a_schema(kind, said, value):
    events = await ask(adapt(agent(said, output_type=kind)), "hi", wants_progress=True)
    [part] = only(events, Output).parts
    assert part.value == value
    assert part.schema["type"] in {"object", "array"}
    assert [type(event) for event in events] == [Output, TaskMetadata]


async def test_text_may_be_one_of_several_outputs():
    for kind in ([str, Weather], str | Weather):
        made = agent("Which city?", calling("final_result", city="R", degrees=2), output_type=kind)
        adapter = adapt(made)
        assert answer(await ask(adapter, "hi")) == "Which city?"
        events = await ask(adapter, "Rome")
        assert only(events, Output).parts[0].value == Weather(city="R", degrees=2)


async def test_functions_make_the_output():
    events = await ask(adapt(agent("hi there", output_type=TextOutput(shout))), "hi")
    assert only(events, Output) == Output((Text("HI THERE"),), name="answer")
    assert not deltas(events)


class Drawing(Fake):
    """Answers with an image and a text, or with another text before the image."""

    def __init__(self, *before):
        super().__init__(lambda _: "")
        self._before = before

    def request_stream(self, *args, **kwargs):
        return Drawn(args[2], self._before)


class Drawn:
    def __init__(self, parameters, before):
        self._parameters = parameters
        self._before = map(TextPart, before)

    async def __aenter__(self):
        image = BinaryImage(b"png", media_type="image/png")
        response = ModelResponse([*self._before, FilePart(image), TextPart("There.")])
        return CompletedStreamedResponse(
            response, model_request_parameters=self._parameters, replay_events=True
        )

    async def __aexit__(self, *_):
        pass


@pytest.mark.parametrize("kind", [str, BinaryImage, [str, BinaryImage]])
async def test_images_of_models_are_files(kind):
    events = await ask(adapt(Agent(Drawing(), output_type=kind)), "draw")
    image = File(content=b"png", media_type="image/png")
    assert only(events, Output) == Output([image])
    assert answer(events) == ("" if kind is BinaryImage else "There.")


async def test_images_stand_between_texts():
    async with running(build_app(Agent(Drawing("Here.")))) as url, connect(url) as client:
        task = await send(client, user_message("draw"))
    parts = [part for each in task.artifacts for part in each.parts]
    assert [part.text or part.raw for part in parts] == ["Here.", b"png", "There."]


async def test_tools_thoughts_and_events_of_tools_are_progress():
    thought = {0: DeltaThinkingPart(content="hm")}
    made = with_tool([thought, calling("look_up", city="Rome")], "It rains.")
    events = await ask(adapt(made), "hi", wants_progress=True)
    assert answer(events) == "It rains."
    told = [
        event for event in events if not isinstance(event, TextDelta | AnswerText | TaskMetadata)
    ]
    assert told[0] == Progress("hm", {"kind": "thought"})
    assert told[1] == ToolCall("c1", "look_up", {"city": "Rome"})
    assert told[2].data["city"] == "Rome"
    assert told[3] == ToolResult("c1", "look_up", "rain in Rome")


async def test_progress_is_off_by_default():
    events = await ask(adapt(with_tool(calling("look_up", city="Rome"), "It rains.")), "hi")
    assert {type(event) for event in events} == {TextDelta, AnswerText, TaskMetadata}


def asked_who(**options):
    """Return an agent with a tool that returns its dependencies, and its model."""
    model = Fake(lambda messages: last if (last := tool_result(messages)) else calling("who"))
    made = Agent(model, **options)

    @made.tool
    def who(ctx: RunContext) -> str:
        return f"{ctx.deps}, {ctx.metadata['owner']} in {ctx.metadata['context_id']}"

    return made


def tool_result(messages):
    return next((p.content for p in messages[-1].parts if p.part_kind == "tool-return"), "")


async def test_tools_receive_dependencies_made_from_the_request():
    adapter = adapt(asked_who(deps_type=str), deps=lambda asked: f"{asked.owner} asks")
    assert answer(await ask(adapter, "hi", owner="ann")) == "ann asks, ann in context"


async def test_the_request_may_be_the_dependency():
    made = Agent(Fake(lambda m: tool_result(m) or calling("who")), deps_type=AgentRequest)

    @made.tool
    def who(ctx: RunContext[AgentRequest]) -> str:
        return f"{ctx.deps.owner}: {ctx.deps.text}"

    assert answer(await ask(adapt(made), "hi", owner="ann")) == "ann: hi"


def test_missing_dependencies_are_refused():
    with pytest.raises(TargetError, match=r"need str: serve\(adapt\(agent, deps=lambda"):
        adapt(asked_who(deps_type=str))


async def test_agents_are_chosen_by_the_request():
    async def agent_for(asked):
        return agent(f"hello {asked.owner}")

    adapter = adapt(agent("unused"), agent_for=agent_for)
    for owner in ("ann", "bob"):
        assert answer(await ask(adapter, "hi", owner=owner)) == f"hello {owner}"


def test_cards_have_function_tools_but_no_instructions():
    def look_up(city: str) -> str:
        """Look up the weather."""
        return city

    toolset = FunctionToolset([look_up])
    made = Agent("test", name="guide", instructions="hunter2", toolsets=[toolset])
    about = adapt(WrapperAgent(made)).describe()
    assert (about.name, about.description) == ("guide", "The agent guide.")
    assert [(skill.id, skill.description) for skill in about.skills] == [
        ("look_up", "Look up the weather.")
    ]
    assert "hunter2" not in str(about)
    assert adapt(Agent("test", description="Knows.")).describe().description == "Knows."
    assert adapt(Agent("test")).describe().name == "agent"


@pytest.mark.parametrize(
    ("target", "suggestion"),
    [(ROME, ""), (Tool(shout), r"\. Nearest: an agent, or a function .* \(pydantic_ai\)")],
    ids=["a model of pydantic", "a tool"],
)
def test_agents_are_suggested_for_objects_of_the_framework_only(target, suggestion):
    with pytest.raises(NoAdapterError, match=rf"temporal \([^)]*\){suggestion}$"):
        build_app(target)


def test_wrapped_agents_are_served():
    build_app(WrapperAgent(agent("hello")))


async def repeat(ctx: RunContext[AgentRequest], words: str) -> str:
    """Repeat the text after yielding to other runs."""
    for _ in range(3):
        await asyncio.sleep(0)
    return f"{ctx.deps.owner}: {words}"


async def asking(ctx: RunContext[AgentRequest], words: str) -> str:
    """Repeat the text, after a question in the first turn."""
    if " " not in words and not ctx.tool_call_approved:
        raise ApprovalRequired
    return await repeat(ctx, words)


def listener(function):
    return listening(support, Tool(function, name="repeat"), deps_type=AgentRequest)


async def test_concurrent_callers_are_isolated(url):
    await check_repeating(url, listener(asking), questions=1)


async def test_callers_of_wrapped_agents_and_factories_are_isolated():
    await check_repeating("memory:", lambda: WrapperAgent(listener(repeat)), questions=0)


def local():
    """Return the model; the framework's own OpenAI model needs a newer client than CrewAI."""

    async def complete(messages, info):
        asked = [{"role": "user", "content": text} for text in said(messages)]
        async with AsyncOpenAI(base_url=address(), api_key="none") as client:
            chunks = await client.chat.completions.create(
                model="local",
                messages=[*EXAMPLE, *asked],
                temperature=0,
                max_tokens=24,
                stop=["\n", "<"],
                stream=True,
            )
            async for chunk in chunks:
                if chunk.choices and (text := chunk.choices[0].delta.content):
                    yield text

    return FunctionModel(stream_function=complete)


@pytest.mark.model
@pytest.mark.timeout(300)
async def test_a_real_model_streams_its_answer():
    await check_it_streams(Agent(local(), name="guide"))


class TestRunning(serving.Running):
    support = support


async def test_blocking_tools_are_reported_and_do_not_delay_a_cancel(caplog):
    blocking = Blocking()
    made = agent(calling("endless"), "never")

    @made.tool_plain
    def endless() -> str:
        return blocking()

    await check_it_learns_of_cancellation(made, blocking, caplog)


async def test_closing_a_stream_ends_its_run():
    ended = asyncio.Event()

    class Endless(Fake):
        async def _stream(self, messages, info):
            try:
                yield "one"
                await asyncio.Event().wait()
            finally:
                ended.set()

    events = adapt(Agent(Endless(lambda _: ""))).stream(request("hi"))
    await anext(events)
    await events.aclose()
    await ended.wait()
