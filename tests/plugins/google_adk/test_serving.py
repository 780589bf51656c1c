"""Answers: text, thoughts, tools, files, structured output, usage, limits and failures."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest
from a2a_adapters_google_adk import a2a_prepare_process, adapt
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps.app import App
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import Workflow
from google.genai.errors import ClientError, ServerError
from google.genai.types import Blob, Content, FileData, GenerateContentConfig, Part
from pydantic import BaseModel

from a2a_adapters import BlockedError, File, Output, Progress, Rejected, Text
from a2a_adapters.plugin import as_json
from tests.plugins.google_adk import support
from tests.plugins.google_adk.support import Fake, agent, calling, composed, results, said, script
from tests.plugins.sql.conftest import new_url
from tests.support.adapters import answer, ask, data, deltas, failure, only
from tests.support.agents import serving
from tests.support.agents.isolation import TURNS, check_repeating, listening
from tests.support.agents.state import check_state, keeping
from tests.support.real_model import ASKED, TOLD, address, check_it_streams

openai = pytest.importorskip("google.adk.integrations.openai", reason="needs openai")


EXAMPLE = [
    Content(role="user", parts=[Part(text=ASKED)]),
    Content(role="model", parts=[Part(text=TOLD)]),
]


class Weather(BaseModel):
    city: str
    degrees: int


class TestServing(serving.Serving):
    support = support
    thought = Part(text="hm", thought=True)
    instructions = "instruction"

    def me(self):
        def me(tool_context: ToolContext) -> str:
            """Name the caller."""
            request = tool_context.state["temp:a2a"]
            assert tool_context.user_id == request.owner
            return f"{request.owner} in {request.context_id}"

        return me

    def adapter(self, model, *functions):
        # with a configuration, async tools run in the event loop of the test
        return adapt(support.made(model, tools=list(functions)), run_config=RunConfig())


async def test_models_that_do_not_stream_are_heard():
    helper = LlmAgent(name="helper", model=Fake(lambda _: "one two", streams=False))
    assert deltas(await ask(adapt(helper), "hi")) == ["one two"]


async def test_the_streaming_mode_is_that_of_the_configuration():
    config = RunConfig(streaming_mode=StreamingMode.NONE)
    assert deltas(await ask(adapt(agent("one two"), run_config=config), "hi")) == ["one two"]


async def test_callbacks_see_chunks_if_the_configuration_streams():
    seen = []

    def see(callback_context, llm_response):
        seen.append(llm_response.content.parts[0].text)

    helper = agent("one two", after_model_callback=see)
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    await ask(adapt(helper, run_config=config), "hi")
    assert seen == ["one", " two", "one two"]


async def test_structured_output_is_data_with_its_schema():
    helper = agent('{"city": "Rome", "degrees": 20}', output_schema=Weather)
    events = await ask(adapt(helper), "hi")
    assert as_json(data(events)) == [{"city": "Rome", "degrees": 20}]
    [part] = only(events, Output).parts
    assert part.schema["title"] == "Weather"
    assert deltas(events) == []


async def test_files_reach_the_model_and_come_back():
    model = Fake(lambda contents: [part for part in contents[-1].parts if part.inline_data])
    image = File(content=b"pixels", media_type="image/png", filename="a.png")
    events = await ask(adapt(LlmAgent(name="painter", model=model)), Text("look"), image)
    text, shown = model.heard[0][0].parts
    assert (text.text, shown.inline_data.mime_type) == ("look", "image/png")
    [part] = only(events, Output).parts
    assert (part.content, part.media_type, part.filename) == (b"pixels", "image/png", "a.png")


async def test_files_by_address_are_passed_on():
    there = Part(file_data=FileData(file_uri="https://files.example/a.png", mime_type="image/png"))
    [part] = only(await ask(adapt(agent(["Look:", there])), "hi"), Output).parts
    assert (part.url, part.media_type) == ("https://files.example/a.png", "image/png")


async def test_saved_artifacts_are_files_of_the_answer():
    async def draw(tool_context: ToolContext) -> str:
        """Draw."""
        part = Part(inline_data=Blob(data=b"pixels", mime_type="image/png"))
        await tool_context.save_artifact("a.png", part)
        return "drawn"

    events = await ask(adapt(agent(calling("draw"), "Here.", tools=[draw])), "hi")
    [part] = only(events, Output).parts
    assert (part.content, part.media_type, part.filename) == (b"pixels", "image/png", "a.png")


async def test_sync_tools_do_not_stop_the_server():
    loop = asyncio.get_running_loop()

    def work() -> str:
        """Work until the event loop answers."""
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(timeout=60)
        return threading.current_thread().name

    model = Fake(lambda contents: results(contents).get("c1") or calling("work"))
    events = await ask(adapt(LlmAgent(name="helper", model=model, tools=[work])), "hi")
    assert answer(events) != threading.main_thread().name


async def test_a_sequence_answers_with_its_last_agent():
    team = composed(
        SequentialAgent, agent("a draft", name="writer"), agent("the end", name="editor")
    )
    events = await ask(adapt(team), "hi", wants_progress=True)
    assert deltas(events) == ["the", " end"]
    assert only(events, Progress) == Progress("finished: writer", {"agent": "writer"})


async def test_parallel_agents_all_answer():
    team = composed(ParallelAgent, agent("one two", name="a"), agent("three four", name="b"))
    assert answer(await ask(adapt(team), "hi")) == "one two\n\nthree four"


async def test_a_loop_answers_with_what_was_said_last():
    team = composed(LoopAgent, agent("one", "two", name="writer"), max_iterations=2)
    assert deltas(await ask(adapt(team), "hi")) == ["two"]


async def test_the_agent_that_takes_over_answers_now_and_in_the_next_turn():
    desk = agent("desk here", "desk again", name="desk", description="Books.")
    host = agent(calling("transfer_to_agent", agent_name="desk"), name="host", sub_agents=[desk])
    adapter = adapt(host)
    assert deltas(await ask(adapter, "hi")) == ["desk", " here"]
    assert answer(await ask(adapter, "and now?")) == "desk again"


async def test_workflows_answer_with_their_output():
    def shout(node_input: str) -> str:
        return node_input.upper()

    def count(node_input: str) -> dict[str, int]:
        return {"letters": len(node_input)}

    spoken = Workflow(name="flow", edges=[("START", agent("hello you", name="greeter"))])
    assert deltas(await ask(adapt(spoken), "hi")) == ["hello", " you"]
    plain = Workflow(name="flow", edges=[("START", shout)])
    assert answer(await ask(adapt(plain), "hi")) == "HI"
    counted = Workflow(name="flow", edges=[("START", agent("four", name="greeter"), count)])
    assert as_json(data(await ask(adapt(counted), "hi"))) == [{"letters": 4}]


async def test_structured_output_of_a_workflow_and_of_a_task_is_data_once():
    clerk = agent('{"city": "Rome", "degrees": 20}', name="clerk", output_schema=Weather)
    flow = Workflow(name="flow", edges=[("START", clerk)])
    finish = calling("finish_task", city="Rome", degrees=20)
    task = agent(finish, name="clerk", mode="task", output_schema=Weather)
    for target in (flow, task):
        events = await ask(adapt(target), "hi")
        assert as_json(data(events)) == [{"city": "Rome", "degrees": 20}]
        assert deltas(events) == []


@pytest.mark.parametrize("code", ["SAFETY", "PROHIBITED_CONTENT"])
async def test_filters_reject_the_task(code):
    blocked = LlmResponse(error_code=code, error_message="secret")
    with pytest.raises(
        BlockedError, match=r"^The content filter of the model stopped the answer\.$"
    ):
        await ask(adapt(agent(["some", blocked])), "hi")


@pytest.mark.parametrize("code", ["UNEXPECTED_TOOL_CALL", "UNKNOWN_ERROR"])
async def test_other_error_codes_fail_the_task(code):
    broken = agent(LlmResponse(error_code=code, error_message="secret"))
    assert await failure(adapt(broken), "secret") == "model_unavailable"


async def test_the_limit_of_model_calls_rejects_the_task():
    def again() -> str:
        """Go on."""
        return "more"

    model = Fake(lambda contents: calling("again", f"c{len(contents)}"))
    helper = LlmAgent(name="helper", model=model, tools=[again])
    events = await ask(adapt(helper, run_config=RunConfig(max_llm_calls=3)), "hi")
    assert only(events, Rejected).reason == "The agent reached its limit of model calls."
    assert len(model.heard) == 3


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (ClientError(403, {"error": {"message": "secret"}}), "model_refused"),
        (ServerError(503, {"error": {"message": "secret"}}), "model_unavailable"),
    ],
)
async def test_failures_have_a_category_and_no_details(error, category):
    assert await failure(adapt(agent(error)), "secret") == category


async def test_apps_and_runners_keep_what_they_bring():
    model = script("one", "two")
    app = App(name="desk", root_agent=LlmAgent(name="helper", model=model))
    adapter = adapt(app)
    await ask(adapter, "first")
    await ask(adapter, "second")
    assert said(model.heard[-1]) == ["first", "second"]

    runner = InMemoryRunner(agent=agent("one", "two"), app_name="desk")
    await ask(adapt(runner), "first", owner="ann")
    sessions = await runner.session_service.list_sessions(app_name="desk", user_id="ann")
    assert len(sessions.sessions) == 1


async def test_anonymous_callers_of_a_runner_share_no_state():
    def keep(tool_context: ToolContext) -> str:
        """Keep the name of the conversation for the user."""
        known = tool_context.state.get("user:name", "nobody")
        tool_context.state["user:name"] = tool_context.state["temp:a2a"].context_id
        return known

    model = Fake(lambda contents: results(contents).get("c1") or calling("keep"))
    adapter = adapt(InMemoryRunner(agent=LlmAgent(name="helper", model=model, tools=[keep])))
    assert answer(await ask(adapter, "hi", context_id="a")) == "nobody"
    assert answer(await ask(adapter, "hi", context_id="b")) == "nobody"


def test_sub_agents_are_skills():
    desk = agent(name="desk", description="Books trips.")
    [skill] = adapt(agent(name="host", sub_agents=[desk])).describe().skills
    assert (skill.id, skill.description, skill.tags) == ("desk", "Books trips.", ("agent",))


@pytest.mark.parametrize("level", [logging.NOTSET, logging.DEBUG])
def test_a_served_process_logs_failures_once_unless_told_otherwise(level):
    logger = logging.getLogger("google_adk.some.module")
    logging.getLogger("google_adk").setLevel(level)
    try:
        a2a_prepare_process()
        assert logger.isEnabledFor(logging.ERROR) == (level != logging.NOTSET)
    finally:
        logging.getLogger("google_adk").setLevel(logging.NOTSET)


async def repeat(words: str, tool_context: ToolContext) -> str:
    """Repeat the text after yielding to other runs."""
    for _ in range(3):
        await asyncio.sleep(0)
    return f"{tool_context.state['temp:a2a'].owner}: {words}"


def listener():
    return listening(support, FunctionTool(repeat, require_confirmation=True))


@pytest.mark.parametrize(
    ("engine", "made"),
    [
        ("memory", listener),
        ("postgresql", lambda: listener),
        ("sqlite", lambda: InMemoryRunner(agent=listener())),
    ],
    ids=["agent", "function", "runner"],
)
async def test_callers_are_isolated(engine, made, tmp_path):
    await check_repeating(new_url(engine, tmp_path), made(), questions=TURNS)


async def test_stored_state_names_no_class(tmp_path):
    kept = []

    def keep(value: dict[str, Any]) -> str:
        """Keep a value."""
        kept.append(value)
        return "kept"

    tool = FunctionTool(keep, require_confirmation=True)
    url = new_url("sqlite", tmp_path)
    await check_state(url, tmp_path / "mark", lambda: keeping(support, tool), kept)


@pytest.mark.model
@pytest.mark.timeout(300)
async def test_a_real_model_streams_its_answer():
    model = openai.OpenAILlm(model="local", base_url=address(), api_key="none", max_tokens=24)
    config = GenerateContentConfig(temperature=0, stop_sequences=["\n", "<"])
    guide = LlmAgent(name="guide", model=model, generate_content_config=config)
    served = adapt(guide, run_config=RunConfig(model_input_context=EXAMPLE))
    await check_it_streams(served)
