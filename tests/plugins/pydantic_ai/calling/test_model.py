"""A remote agent as a model in Pydantic AI's agents."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_pydantic_ai import A2AModel, A2AToolset, adapt
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    BinaryContent,
    ImageUrl,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    ToolCallPart,
    ToolOutput,
    ToolReturnPart,
    UserError,
)
from pydantic_ai.models.fallback import FallbackModel

from a2a_adapters import (
    ConfigurationError,
    InputRequired,
    RemoteAgent,
    RemoteAgentError,
    RemoteTaskError,
    TextDelta,
    build_app,
)
from a2a_adapters.plugin import AgentDescription, remote_llm
from a2a_adapters.testing import running
from tests.plugins.openai_agents.calling.support import (
    booking,
    everything,
    failing,
    reading,
    remembering,
    served,
)
from tests.plugins.pydantic_ai.support import script
from tests.support.adapters import answer, ask, deltas, only, reply
from tests.support.servers.front import Recording

NOWHERE = "http://127.0.0.1:9"
ABOUT = AgentDescription(name="The desk", description="Books trips.")


async def run(agent, given, **options):
    return await agent.run(given, **options)


async def streamed(agent, given, **options):
    async with agent.run_stream_events(given, **options) as events:
        async for _ in events:
            pass
        return events.result


async def pieces(agent, given, **options):
    """Return the streamed chunks of a run."""
    found = []
    async with agent.run_stream_events(given, **options) as events:
        async for event in events:
            if isinstance(event, PartStartEvent):
                found.append(event.part.content)
            elif isinstance(event, PartDeltaEvent):
                found.append(event.delta.content_delta)
    return found


async def test_answers_and_token_usage():
    async with served(remembering) as remote:
        result = await Agent(A2AModel(remote)).run("hi")
    assert result.output == "hi"
    assert (result.usage.input_tokens, result.usage.output_tokens) == (3, 4)


async def test_streamed_answers():
    async with served(remembering) as remote:
        agent = Agent(A2AModel(remote))
        first = await agent.run("hi")
        assert await pieces(agent, "ho", message_history=first.all_messages()) == ["hi", " | ho"]


async def test_histories_are_conversations():
    async with served(remembering) as remote:
        agent = Agent(A2AModel(remote))  # one for all

        async def converse(name):
            history = []
            for number in range(3):
                result = await streamed(agent, f"{name}.{number}", message_history=history)
                stored = ModelMessagesTypeAdapter.dump_json(result.all_messages())
                history = ModelMessagesTypeAdapter.validate_json(stored)
            return result.output

        outputs = await asyncio.gather(*(converse(f"caller{n}") for n in range(20)))
    assert outputs == [f"caller{n}.0 | caller{n}.1 | caller{n}.2" for n in range(20)]


async def test_messages_of_other_models_have_their_speaker():
    history = [
        ModelRequest.user_text_prompt("hi"),
        ModelResponse([TextPart("hello"), ToolCallPart("look", {}, "1")]),
        ModelRequest([ToolReturnPart("look", "seen", "1")]),
    ]
    async with served(reading) as remote:
        agent = Agent(A2AModel(remote), instructions="Be kind.", system_prompt="unused")
        said = (await agent.run("and?", message_history=history)).output
    assert said == (
        "[System: Be kind.][User: hi][Assistant: hello]"
        "[Assistant: (calls look with {})][Tool: seen][User: and?]"
    )


async def test_images_and_files_are_sent():
    given = ["look", BinaryContent(b"csv", media_type="text/csv")]
    async with served(reading) as remote:
        said = (await Agent(A2AModel(remote)).run(given)).output
    assert said == "[look][ text/csv csv]"


async def test_urls_are_sent_as_they_are():
    recording = Recording(build_app(remembering))
    async with running(recording) as url:
        await Agent(A2AModel(url)).run(["look", ImageUrl("https://example.com/a.png")])
    parts = recording.messages[0]["parts"]
    assert parts[1]["url"] == "https://example.com/a.png"


@pytest.mark.parametrize("talk", [run, streamed])
async def test_questions_are_answers_and_the_next_message_replies(talk):
    async with served(booking) as remote:
        agent = Agent(A2AModel(remote))
        asked = await talk(agent, "book")
        done = await talk(agent, "Rome", message_history=asked.all_messages())
    assert [asked.output, done.output] == ["Which city?", "Booked Rome."]


class Weather(BaseModel):
    city: str
    degrees: int


@pytest.mark.parametrize("talk", [run, streamed])
async def test_data_fills_the_output_type(talk):
    async with served(everything) as remote:
        result = await talk(Agent(A2AModel(remote), output_type=Weather), "hi")
    assert result.output == Weather(city="Rome", degrees=20)


@pytest.mark.parametrize("talk", [run, streamed])
async def test_data_becomes_text_and_files_are_files(talk):
    async with served(everything) as remote:
        result = await talk(Agent(A2AModel(remote)), "hi")
    before, data = result.output.split("\n")
    assert before == "here:"
    assert Weather.model_validate_json(data) == Weather(city="Rome", degrees=20)
    [image] = result.response.files
    assert (image.data, image.media_type) == (b"png", "image/png")


@pytest.mark.parametrize("talk", [run, streamed])
async def test_failures_are_typed(talk):
    async with served(failing) as remote:
        with pytest.raises(RemoteTaskError) as caught:
            await talk(Agent(A2AModel(remote)), "hi")
        assert caught.value.state == "failed"
        fallback = FallbackModel(A2AModel(remote), script("here"), fallback_on=RemoteAgentError)
        assert (await streamed(Agent(fallback), "hi")).output == "here"


@pytest.mark.parametrize(
    ("options", "error", "complaint"),
    [
        ({"tools": [lambda: "seen"]}, ConfigurationError, "takes none"),
        ({"toolsets": [A2AToolset(NOWHERE, about=ABOUT)]}, ConfigurationError, "takes none"),
        ({"output_type": ToolOutput(Weather)}, UserError, "not supported"),
    ],
)
async def test_tools_are_refused(options, error, complaint):
    with pytest.raises(error, match=complaint):
        await Agent(A2AModel(NOWHERE), **options).run("hi")


@pytest.mark.parametrize("talk", [run, streamed])
async def test_model_settings_are_message_options(talk):
    recording = Recording(build_app(remembering))
    settings = ModelSettings(extra_headers={"X-Tenant": "a"}, timeout=60, temperature=0.5)
    async with running(recording) as url:
        model = A2AModel(url, timeout=60, headers={"X-Key": "k"})
        await talk(Agent(model, model_settings=settings), "hi")
    assert set(recording.header_values("x-key")) == {"k"}
    assert "a" in recording.header_values("x-tenant")
    with pytest.raises(ConfigurationError, match="greater than 0"):
        await talk(Agent(model, model_settings={"timeout": 0}), "hi")


@pytest.mark.parametrize("made", [A2AModel, A2AToolset])
def test_remote_agents_keep_their_options(made):
    with pytest.raises(ConfigurationError, match="timeout"):
        made(RemoteAgent(NOWHERE), timeout=1)


async def test_closing_a_stream_cancels_the_remote_task():
    ended = asyncio.Event()

    async def endless(text: str):
        try:
            yield TextDelta("one")
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with served(endless) as remote:
        async with Agent(A2AModel(remote)).run_stream_events("hi") as events:
            assert (await anext(events)).part.content == "one"
        await ended.wait()


async def test_run_stream_ends_with_the_answer():
    async with (
        served(remembering) as remote,
        Agent(A2AModel(remote)).run_stream("hi") as answer,
    ):
        assert [text async for text in answer.stream_text()] == ["hi"]


async def test_the_framework_is_found_by_name():
    model = remote_llm(NOWHERE, "pydantic-ai")
    assert isinstance(model, A2AModel)
    assert model.model_name == NOWHERE


async def test_served_agents_ask_the_questions_of_their_model():
    async def looking(request):
        yield "I looked."
        yield InputRequired("Which city?")

    async with served(looking) as remote:
        adapter = adapt(Agent(A2AModel(remote)))
        events = await ask(adapter, "book")
        assert answer(events) == "I looked."
        assert deltas(events) == ["I looked."]
        assert only(events, InputRequired) == InputRequired("Which city?", durable=True)
        again = await reply(adapter, " ")
    assert only(again, InputRequired).prompt == "That answers nothing.\n\nWhich city?"
