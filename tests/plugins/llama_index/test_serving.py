"""Answers, progress, input and cards of agents and workflows."""

from __future__ import annotations

import inspect
from base64 import b64encode

import pytest
from llama_index.core.base.llms.types import AudioBlock, DocumentBlock, VideoBlock
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.chat_engine.types import AgentChatResponse
from llama_index.core.llms import ChatMessage, ChatResponse, ImageBlock, LLMMetadata, TextBlock
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.mock import MockLLM
from openai import AsyncOpenAI
from pydantic import BaseModel
from workflows import Workflow, step
from workflows.events import Event, StartEvent, StopEvent

from a2a_adapters import (
    Data,
    File,
    InvalidInputError,
    Output,
    Progress,
    TargetError,
    Text,
    ToolCall,
    ToolResult,
    build_app,
    current_request,
)
from a2a_adapters.plugin import as_json
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.llama_index import flows, support
from tests.plugins.llama_index.flows import Counting, Flow, Travel, spoken
from tests.plugins.llama_index.support import Fake, adapt, agent, calling, made, script, team, tool
from tests.support.adapters import answer, ask, data, deltas, failure, only, request
from tests.support.agents import memory, serving
from tests.support.real_model import EXAMPLE, address, check_it_streams


class TestServing(serving.Serving):
    support = support
    thought = {"thought": "hm"}  # noqa: RUF012 - a content of the model
    instructions = "system_prompt"

    def me(self):
        async def me() -> str:
            """Name the caller."""
            request = current_request()
            return f"{request.owner} in {request.context_id}"

        return tool(me)

    async def test_tools_find_the_request(self):
        model = Fake(lambda messages: support.results(messages).get("c1") or calling("me"))
        async with running(build_app(made(model, tools=[self.me()]))) as url:
            for owner in ("ann", "bob"):
                async with connect(url, user=owner) as client:
                    task = await send(client, user_message("hi", context_id="trip"))
                assert answer_of(task) == f"{owner} in trip"

    async def test_thoughts_and_tools_are_progress_and_texts_are_paragraphs(self):
        def look(city: str) -> str:
            """Look."""
            return f"rain in {city}"

        model = script([self.thought, "Let me see.", calling("look", city="Rome")], "It rains.")
        events = await ask(self.adapter(model, look), "hi", wants_progress=True)
        assert answer(events) == "It rains."  # an agent answers with its last response
        assert only(events, Progress) == Progress("hm", {"kind": "thought"})
        assert only(events, ToolCall) == ToolCall("c1", "look", {"city": "Rome"})
        assert only(events, ToolResult) == ToolResult("c1", "look", "rain in Rome")


class TestInput(serving.Input):
    support = support


class TestMemory(memory.Memory):
    support = support


async def test_workflows_stream_text_and_report_steps_and_their_events():
    async def answer_it(ctx, text):
        ctx.write_event_to_stream(Event(msg="looking", found=2))
        spoken(ctx, "It rains.")
        return "It rains."

    events = await ask(adapt(Flow(answer_it)), "hi", wants_progress=True)
    assert deltas(events) == ["It", " rains."]
    assert answer(events) == "It rains."
    reported = [event for event in events if isinstance(event, Progress)]
    assert reported == [
        Progress("answer", {"kind": "step"}),
        Progress("looking", {"msg": "looking", "found": 2}),
    ]


async def test_start_events_are_filled_from_data_and_text():
    adapter = adapt(Travel())
    for parts in (("Rome",), (Data({"city": "Rome", "days": 3}),), (Data({"days": 3}), "Rome")):
        events = await ask(adapter, *parts, context_id=str(parts))
        assert as_json(data(events)[0]) == {
            "question_id": "1",
            "question": {"question": "Approve?", "price": 300},
        }


@pytest.mark.parametrize(
    ("part", "complaint"),
    [
        (Data({"days": 1}), "missing: city"),
        (Data({"city": "Rome", "days": "x"}), "days"),
        (Data({"town": "Rome"}), "unknown: town"),
        (File(content=b"x", media_type="text/csv"), "takes no files"),
    ],
)
def test_what_a_workflow_does_not_take_is_refused(part, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        adapt(Travel()).stream(request(part))


async def test_the_state_of_a_workflow_is_that_of_its_conversation():
    adapter = adapt(Counting())
    for owner in ("ann", "bob"):
        heard = [answer(await ask(adapter, text, owner=owner)) for text in ("one", "two")]
        assert heard == ["1. one", "2. two"]
    fresh = adapt(Counting(), keep_context=False)
    assert [answer(await ask(fresh, text)) for text in ("one", "two")] == ["1. one", "1. two"]


async def test_attributes_and_resources_of_a_workflow_belong_to_a_run():
    class Keeping(Workflow):
        said = ""

        @step
        async def keep(self, ev: StartEvent) -> StopEvent:
            self.said += ev.user_msg
            return StopEvent(result=self.said)

    adapter = adapt(Keeping())
    assert [answer(await ask(adapter, text)) for text in ("one", "two")] == ["one", "two"]


class Weather(BaseModel):
    city: str
    degrees: int


WEATHER = Weather(city="Rome", degrees=20)
IMAGE = ImageBlock(image=b64encode(b"p"), image_mimetype="image/png")
LOOK = TextBlock(text="Look:")
FILE = File(content=b"p", media_type="image/png")


@pytest.mark.parametrize(
    ("result", "text", "value"),
    [
        (Response("It rains.", source_nodes=[]), "It rains.", None),
        (PydanticResponse(WEATHER, source_nodes=[]), "", {"city": "Rome", "degrees": 20}),
        (AsyncStreamingResponse(support.gen("It rains."), source_nodes=[]), "It rains.", None),
        (StreamingResponse(each for each in ("It ", "rains.")), "It rains.", None),
        (StreamingResponse(iter(["It ", "rains."])), "It rains.", None),
        ((each for each in ("It ", "rains.")), "It rains.", None),
        ((each for each in (0, 1)), "", [0, 1]),
        (MockLLM().stream_complete("It rains."), "It rains.", None),
        (AgentChatResponse("It rains."), "It rains.", None),
        (ChatMessage("It rains.", role="assistant"), "It rains.", None),
        (support.gen("It rains."), "It rains.", None),
        (WEATHER, "", {"city": "Rome", "degrees": 20}),
        ({"degrees": 20}, "", {"degrees": 20}),
    ],
)
async def test_results_are_text_or_data(result, text, value):
    async def answer_it(ctx, text):
        return result

    events = await ask(adapt(Flow(answer_it)), "hi")
    assert answer(events) == text
    assert as_json(data(events)) == ([value] if value else [])


@pytest.mark.parametrize(
    ("block", "file"),
    [
        (IMAGE, FILE),
        (
            ImageBlock(url="https://x.example/a.png"),
            File(url="https://x.example/a.png", media_type="image/png"),
        ),
        (ImageBlock(url="data:image/png;base64,cA=="), FILE),
        (AudioBlock(audio=b"p", format="mp3"), File(content=b"p", media_type="audio/mp3")),
        (
            VideoBlock(video=b64encode(b"p"), video_mimetype="video/mp4"),
            File(content=b"p", media_type="video/mp4"),
        ),
        (
            DocumentBlock(data=b64encode(b"p"), document_mimetype="application/pdf"),
            File(content=b"p", media_type="application/pdf"),
        ),
    ],
)
async def test_files_of_every_kind_are_sent_in_their_places(block, file):
    async def answer_it(ctx, text):
        return ChatMessage(role="assistant", blocks=[LOOK, block, TextBlock(text="It rains.")])

    events = await ask(adapt(Flow(answer_it)), "hi")
    found = [part for event in events if isinstance(event, Output) for part in event.parts]
    assert found == [Text("Look:"), file, Text("It rains.")]


class Sourced(StopEvent):
    sources: list[str]


class Ended(StopEvent): ...


@pytest.mark.parametrize(
    ("stop", "text", "value"),
    [
        (Sourced(result="It rains.", sources=["a"]), "It rains.", [{"sources": ["a"]}]),
        (Sourced(sources=["a"]), "", [{"sources": ["a"]}]),
        (Ended(result="It rains."), "It rains.", []),
        (Ended(result={"degrees": 20}), "", [{"degrees": 20}]),
        (Ended(), "", [{}]),
    ],
)
async def test_results_and_fields_of_stop_events_are_sent(stop, text, value):
    class Stopping(Workflow):
        async def end(self, ev: StartEvent):
            return stop

        end.__annotations__["return"] = type(stop)
        end = step(end)

    events = await ask(adapt(Stopping()), "hi")
    assert answer(events) == text
    assert as_json(data(events)) == value


@pytest.mark.parametrize("name", ["achat", "chat", "astream_chat", "stream_chat"])
async def test_results_of_chat_engines_are_text(name):
    async def answer_it(ctx, text):
        asked = getattr(SimpleChatEngine.from_defaults(llm=MockLLM()), name)(text)
        return await asked if inspect.isawaitable(asked) else asked

    assert answer(await ask(adapt(Flow(answer_it)), "hi")) == "user: hi\nassistant: "


async def test_streams_of_models_are_text():
    async def answer_it(ctx, text):
        return await script("It rains.").astream_chat([ChatMessage(text)])

    assert answer(await ask(adapt(Flow(answer_it)), "hi")) == "It rains."


@pytest.mark.parametrize(
    ("blocks", "parts"),
    [
        ([LOOK, IMAGE], [FILE]),
        ([IMAGE, LOOK], [FILE, Text("Look:")]),
        ([LOOK, IMAGE, LOOK], [Text("Look:"), FILE, Text("Look:")]),
    ],
)
async def test_texts_and_images_keep_their_order(blocks, parts):
    async def answer_it(ctx, text):
        return ChatMessage(blocks=blocks, role="assistant")

    events = await ask(adapt(Flow(answer_it)), "hi")
    assert only(events, Output).parts == parts
    assert answer(events) == ("Look:" if parts == [FILE] else "")


async def test_structured_responses_are_data():
    def fill(messages):
        return {"city": "Rome", "degrees": 20}

    events = await ask(adapt(agent("It rains.", structured_output_fn=fill)), "hi")
    assert answer(events) == "It rains."
    assert as_json(data(events)) == [{"city": "Rome", "degrees": 20}]


async def test_files_reach_the_model():
    model = script("seen", "seen")
    pdf = File(content=b"%PDF", media_type="application/pdf", filename="a.pdf")
    adapter = adapt(made(model))
    await ask(adapter, "look", File(content=b"p", media_type="image/png"), pdf)
    await ask(adapter, "again")
    [_, image, document] = model.heard[1][0].blocks
    assert isinstance(image, ImageBlock)
    assert image.resolve_image().read() == b"p"
    assert (document.title, document.resolve_document().read()) == ("a.pdf", b"%PDF")


async def test_teams_hand_over():
    hand = calling("handoff", to_agent="writer", reason="it writes")
    desk = agent(["Over.", hand], name="desk", description="Takes calls.")
    writer = agent("It rains.", name="writer", description="Writes.")
    events = await ask(adapt(team(desk, writer)), "hi", wants_progress=True)
    assert answer(events) == "It rains."
    assert only(events, ToolCall).name == "handoff"


async def test_limits_are_a_category():
    def look() -> str:
        """Look."""
        return "more"

    endless = made(Fake(lambda m: calling("look", f"c{len(m)}")), tools=[tool(look)])
    assert await failure(adapt(endless)) == "limit"

    async def never(ctx, text):
        await support.forever()

    assert await failure(adapt(Flow(never, timeout=0.01))) == "limit"


async def test_state_that_cannot_be_stored_fails_the_task():
    async def keep(ctx, text):
        await ctx.store.set("lock", object())
        return "done"

    with pytest.raises(ValueError, match="lock"):
        await ask(adapt(Flow(keep)), "hi")
    assert answer(await ask(adapt(Flow(keep), keep_context=False), "hi")) == "done"


def test_cards_describe_workflows():
    card = adapt(Travel()).describe()
    assert (card.name, card.description) == (
        "Travel",
        "Offers a trip after an approval, with events of its own.",
    )
    assert not card.skills


def test_only_workflows_are_served():
    def desk():
        return flows.Booking()

    assert build_app(desk)
    with pytest.raises(TargetError):
        adapt(flows.Booking)


def test_a_class_that_changes_what_a_run_returns_is_refused():
    class Checked(flows.Booking):
        def run(self, *args, **kwargs):
            return super().run(*args, **kwargs)

    with pytest.raises(TargetError, match="overrides run"):
        build_app(Checked())


class Local(FunctionCallingLLM):
    """The local model, by the API of OpenAI: LlamaIndex's own class needs another package."""

    url: str

    @property
    def metadata(self):
        return LLMMetadata(is_function_calling_model=True, is_chat_model=True)

    def _prepare_chat_with_tools(self, tools, *, chat_history=None, **_):
        return {"messages": chat_history}

    def get_tool_calls_from_response(self, *_, **__):
        return []

    async def astream_chat(self, messages, **_):
        said = [*EXAMPLE, *({"role": str(m.role.value), "content": m.content} for m in messages)]
        client = AsyncOpenAI(base_url=self.url, api_key="none")
        options = {"temperature": 0, "max_tokens": 24, "stop": ["\n", "<"]}
        stream = await client.chat.completions.create(
            model="local", messages=said, stream=True, **options
        )

        async def chunks():
            text = ""
            async for chunk in stream:
                delta = chunk.choices[0].delta.content or ""
                text += delta
                yield ChatResponse(message=ChatMessage(text, role="assistant"), delta=delta)

        return chunks()

    def chat(self, *_, **__):
        raise NotImplementedError

    achat = complete = stream_chat = stream_complete = acomplete = astream_complete = chat


@pytest.mark.model
@pytest.mark.timeout(300)
async def test_a_real_model_streams_its_answer():
    await check_it_streams(made(Local(url=address())))
