"""A remote agent as a model in the SDK's agents."""

from __future__ import annotations

import asyncio
from contextlib import closing

import pytest
from a2a_adapters_openai_agents import A2AModel, a2a_handoff, a2a_tool
from agents import (
    Agent,
    ModelSettings,
    RunConfig,
    Runner,
    SQLiteSession,
    function_tool,
    set_trace_processors,
)
from openai.types.responses import ResponseTextDeltaEvent
from pydantic import BaseModel

from a2a_adapters import ConfigurationError, RemoteAgent, RemoteTaskError, TextDelta, build_app
from a2a_adapters.plugin import remote_llm
from a2a_adapters.testing import running
from tests.plugins.openai_agents.calling.support import (
    booking,
    everything,
    failing,
    reading,
    remembering,
    served,
)
from tests.plugins.openai_agents.test_tracing import Recorder
from tests.support.servers.front import Recording

QUIET = RunConfig(tracing_disabled=True)


def local(remote, **options):
    return Agent(name="local", model=A2AModel(remote), **options)


async def run(agent, given, **options):
    return await Runner.run(agent, given, run_config=QUIET, **options)


async def streamed(agent, given, **options):
    """Return the streamed chunks of a run, and its result."""
    result = Runner.run_streamed(agent, given, run_config=QUIET, **options)
    pieces = [
        event.data.delta
        async for event in result.stream_events()
        if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent)
    ]
    return pieces, result


async def test_answers_and_token_usage():
    async with served(remembering) as remote:
        result = await run(local(remote), "hi")
    assert result.final_output == "hi"
    assert result.context_wrapper.usage.total_tokens == 7


async def test_streamed_answers():
    async with served(remembering) as remote:
        with closing(SQLiteSession("one")) as session:
            await streamed(local(remote), "hi", session=session)
            pieces, result = await streamed(local(remote), "ho", session=session)
    assert pieces == ["hi", " | ho"]
    assert result.final_output == "hi | ho"
    assert result.context_wrapper.usage.total_tokens == 7


@pytest.mark.parametrize("talk", [run, streamed])
async def test_sessions_are_conversations(talk):
    async with served(remembering) as remote:
        agent = local(remote)  # one for all

        async def converse(name):
            with closing(SQLiteSession(name)) as session:
                for number in range(3):
                    result = await talk(agent, f"{name}.{number}", session=session)
            return result if talk is run else result[1]

        results = await asyncio.gather(*(converse(f"caller{n}") for n in range(40)))
    expected = [f"caller{n}.0 | caller{n}.1 | caller{n}.2" for n in range(40)]
    assert [result.final_output for result in results] == expected


async def test_passed_items_are_conversations():
    async with served(remembering) as remote:
        first = await run(local(remote), "one")
        given = [*first.to_input_list(), {"role": "user", "content": "two"}]
        assert (await run(local(remote), given)).final_output == "one | two"


async def test_messages_of_other_agents_have_their_speaker():
    async with served(reading) as remote:
        given = [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello"},
            {"type": "function_call", "name": "look", "arguments": "{}", "call_id": "1"},
            {"type": "function_call_output", "call_id": "1", "output": "seen"},
            {"role": "user", "content": "and?"},
        ]
        said = (await run(local(remote, instructions="Be kind."), given)).final_output
    assert said == (
        "[System: Be kind.][User: hi][Assistant: hello]"
        "[Assistant: (calls look with {})][Tool: seen][User: and?]"
    )


async def test_images_and_files_are_sent():
    content = [
        {"type": "input_text", "text": "look"},
        {"type": "input_image", "image_url": "data:image/png;base64,cG5n", "detail": "auto"},
        {"type": "input_file", "file_data": "data:text/csv;base64,Y3N2", "filename": "b.csv"},
        {"type": "input_image", "file_id": "file-1", "detail": "auto"},
    ]
    async with served(reading) as remote:
        said = (await run(local(remote), [{"role": "user", "content": content}])).final_output
    assert said == "[look][ image/png png][b.csv text/csv csv][(input_image: file-1)]"


@pytest.mark.parametrize("talk", [run, streamed])
async def test_questions_are_answers_and_the_next_message_replies(talk):
    async with served(booking) as remote:
        with closing(SQLiteSession("one")) as session:
            asked = await talk(local(remote), "book", session=session)
            done = await talk(local(remote), "Rome", session=session)
    asked, done = (each if talk is run else each[1] for each in (asked, done))
    assert [asked.final_output, done.final_output] == ["Which city?", "Booked Rome."]


class Weather(BaseModel):
    city: str
    degrees: int


@pytest.mark.parametrize("talk", [run, streamed])
async def test_data_fills_the_output_type(talk):
    async with served(everything) as remote:
        result = await talk(local(remote, output_type=Weather), "hi")
        result = result if talk is run else result[1]
    assert result.final_output == Weather(city="Rome", degrees=20)


@pytest.mark.parametrize("talk", [run, streamed])
async def test_data_and_files_become_text(talk):
    async with served(everything) as remote:
        result = await talk(local(remote), "hi")
        result = result if talk is run else result[1]
    before, data, after = result.final_output.split("\n")
    assert (before, after) == ("here:", "(A file: a.png)")
    assert Weather.model_validate_json(data) == Weather(city="Rome", degrees=20)


@pytest.mark.parametrize("talk", [run, streamed])
async def test_failures_are_typed(talk):
    async with served(failing) as remote:
        with pytest.raises(RemoteTaskError) as caught:
            await talk(local(remote), "hi")
    assert caught.value.state == "failed"


async def test_tools_and_handoffs_are_refused():
    @function_tool
    def look() -> str:
        return "seen"

    async with served(remembering) as remote:
        for options in ({"tools": [look]}, {"handoffs": [Agent(name="other")]}):
            with pytest.raises(ConfigurationError, match="takes none"):
                await run(local(remote, **options), "hi")


@pytest.mark.parametrize("talk", [run, streamed])
async def test_model_settings_are_message_options(talk):
    recording = Recording(build_app(remembering))
    settings = ModelSettings(
        extra_headers={"X-Tenant": "a"}, metadata={"desk": "1"}, extra_args={"timeout": 60}
    )
    async with running(recording) as url:
        model = A2AModel(url, timeout=60, headers={"X-Key": "k"})
        await talk(Agent(name="local", model=model, model_settings=settings), "hi")
        await model.close()
    assert set(recording.header_values("x-key")) == {"k"}
    assert "a" in recording.header_values("x-tenant")
    assert recording.messages[0]["metadata"] == {"desk": "1"}


@pytest.mark.parametrize(
    ("settings", "options", "complaint"),
    [
        ({"temperature": 0.5}, {}, "takes no temperature"),
        ({"extra_args": {"seed": 1}}, {}, "takes no seed"),
        ({"extra_args": {"timeout": 0}}, {}, "greater than 0"),
        ({}, {"conversation_id": "c"}, "conversation_id"),
        ({}, {"previous_response_id": "r"}, "previous_response_id"),
    ],
)
@pytest.mark.parametrize("talk", [run, streamed])
async def test_unsupported_settings_are_refused(talk, settings, options, complaint):
    agent = local("http://127.0.0.1:9", model_settings=ModelSettings(**settings))
    with pytest.raises(ConfigurationError, match=complaint):
        await talk(agent, "hi", **options)


@pytest.mark.parametrize("made", [A2AModel, a2a_tool, a2a_handoff])
def test_remote_agents_keep_their_options(made):
    with pytest.raises(ConfigurationError, match="timeout"):
        made(RemoteAgent("http://127.0.0.1:9"), timeout=1)


async def test_closing_a_stream_cancels_the_remote_task():
    ended = asyncio.Event()

    async def endless(text: str):
        try:
            yield TextDelta("one")
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with served(endless) as remote:
        result = Runner.run_streamed(local(remote), "hi", run_config=QUIET)
        events = result.stream_events()
        while not isinstance(getattr(await anext(events), "data", None), ResponseTextDeltaEvent):
            pass
        result.cancel()
        await events.aclose()
        await ended.wait()


async def test_calls_are_traced_as_spans():
    recorder = Recorder()
    set_trace_processors([recorder])
    try:
        async with served(remembering) as remote:
            await Runner.run(local(remote), "secret words")
            [span] = [each for each in recorder.sent if _name(each) == "a2a"]
            assert span.span_data.data["agent"] == remote.name
            assert span.span_data.data["state"] == "completed"
            assert "secret words" not in str(span.export())
            before = len(recorder.sent)
            await run(local(remote), "hi")
            assert len(recorder.sent) == before
    finally:
        set_trace_processors([])


def _name(sent):
    return getattr(getattr(sent, "span_data", None), "name", None)


async def test_the_framework_is_found_by_name():
    async with served(remembering) as remote:
        model = remote_llm(remote, "openai-agents")
        assert isinstance(model, A2AModel)
        await model.close()
