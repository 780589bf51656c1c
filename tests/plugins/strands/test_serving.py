"""Answers: text, thoughts, tools, files, structured output, usage, limits and failures."""

from __future__ import annotations

import asyncio
import base64

import pytest
from a2a_adapters_strands import adapt
from botocore.exceptions import ClientError
from pydantic import BaseModel
from strands import Agent, ToolContext, tool
from strands.session import FileSessionManager
from strands.types.exceptions import MaxTokensReachedException

from a2a_adapters import (
    AgentFailedError,
    Factory,
    File,
    InvalidInputError,
    Progress,
    Rejected,
    TargetError,
    TaskMetadata,
    Text,
    ToolCall,
    ToolResult,
    as_json,
    build_app,
)
from tests.plugins.strands.support import Fake, agent, calling, results, said, script
from tests.support.adapters import answer, ask, data, deltas, only

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Weather(BaseModel):
    city: str
    degrees: int


async def test_tokens_are_streamed_and_usage_is_reported():
    events = await ask(adapt(agent("one two three")), "hi")
    assert deltas(events) == ["one", " two", " three"]
    assert only(events, TaskMetadata).values["usage"]["total_tokens"] == 5


async def test_thoughts_and_tools_are_progress_and_texts_are_paragraphs():
    @tool
    def look(city: str) -> str:
        """Look."""
        return f"rain in {city}"

    helper = agent([{"thought": "hm"}, "Let me see.", calling("look", city="Rome")], "It rains.")
    helper.tool_registry.process_tools([look])
    events = await ask(adapt(helper), "hi", wants_progress=True)
    assert answer(events) == "Let me see.\n\nIt rains."
    assert only(events, Progress) == Progress("hm", {"kind": "thought"})
    assert only(events, ToolCall) == ToolCall("c1", "look", {"city": "Rome"})
    assert only(events, ToolResult) == ToolResult("c1", "look", "rain in Rome")
    assert not [
        each
        for each in await ask(adapt(agent([{"thought": "x"}, "y"])), "hi")
        if isinstance(each, Progress)
    ]


async def test_structured_output_is_data_with_its_schema():
    helper = agent(calling("Weather", city="Rome", degrees=20), structured_output_model=Weather)
    events = await ask(adapt(helper), "hi", wants_progress=True)
    assert as_json(data(events)) == [{"city": "Rome", "degrees": 20}]
    assert not [each for each in events if isinstance(each, ToolCall)]


async def test_files_reach_the_model():
    model = script("seen")
    image = File(content=PNG, media_type="image/png")
    pdf = File(content=b"%PDF", media_type="application/pdf", filename="a/b.pdf")
    await ask(adapt(Agent(model=model)), Text("look"), image, pdf)
    text, shown, document = model.heard[0][0]["content"]
    assert text == {"text": "look"}
    assert shown["image"] == {"format": "png", "source": {"bytes": PNG}}
    assert document["document"]["name"] == "a-b-pdf"


@pytest.mark.parametrize(
    ("part", "complaint"),
    [(Text(" "), "empty"), (File(content=b"x", media_type="audio/ogg"), "audio/ogg")],
)
async def test_messages_that_no_model_can_read_are_refused(part, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        await ask(adapt(agent("never")), part)


async def test_tools_find_the_request():
    @tool(context=True)
    def me(tool_context: ToolContext) -> str:
        """Name the caller."""
        request = tool_context.invocation_state["a2a"]
        return f"{request.owner} in {request.context_id}"

    helper = Agent(
        model=Fake(lambda messages: results(messages).get("c1") or calling("me")), tools=[me]
    )
    events = await ask(adapt(helper), "hi", owner="ann", context_id="trip")
    assert answer(events) == "ann in trip"


@pytest.mark.parametrize(
    ("reason", "text"),
    [("content_filtered", "content filter"), ("guardrail_intervened", "guardrail")],
)
async def test_filters_reject_the_task(reason, text):
    events = await ask(adapt(agent(["some", (reason,)])), "hi")
    assert text in only(events, Rejected).reason


async def test_the_limit_of_turns_rejects_the_task():
    @tool
    def again() -> str:
        """Go on."""
        return "more"

    endless = Agent(
        model=Fake(lambda messages: calling("again", f"c{len(messages)}")), tools=[again]
    )
    events = await ask(adapt(endless, run_limits={"turns": 3}), "hi")
    assert only(events, Rejected).reason == "The agent reached its limit of turns."


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (MaxTokensReachedException("secret"), "limit"),
        (ClientError({"Error": {"Code": "x"}}, "Converse"), "model_unavailable"),
    ],
)
async def test_failures_have_a_category_and_no_details(error, category):
    with pytest.raises(AgentFailedError) as raised:
        await ask(adapt(agent(error)), "hi")
    assert raised.value.category == category
    assert "secret" not in str(raised.value)


async def test_failed_runs_leave_the_conversation_unchanged():
    model = script("one", RuntimeError("down"), "three")
    adapter = adapt(Agent(model=model))
    await ask(adapter, "first")
    with pytest.raises(RuntimeError):
        await ask(adapter, "second")
    await ask(adapter, "third")
    assert said(model.heard[-1]) == ["first", "third"]


async def test_cancelling_stops_the_model_and_tools_at_once():
    started, stopped = asyncio.Event(), asyncio.Event()

    @tool
    async def work() -> str:
        """Work."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ""

    adapter = adapt(agent(calling("work"), tools=[work]))
    run = asyncio.create_task(ask(adapter, "hi"))
    await started.wait()
    run.cancel()
    await asyncio.wait({run})
    assert stopped.is_set()
    assert run.cancelled()


async def test_an_agent_of_the_user_is_restored(capsys):
    helper = agent("one", "two")
    printer = helper.callback_handler
    await ask(adapt(helper), "hi")
    assert helper.messages == []
    assert helper.callback_handler is printer
    assert capsys.readouterr().out == ""


def test_the_card_has_the_tools_and_no_prompt():
    @tool
    def look(city: str) -> str:
        """Look at the weather."""
        return city

    helper = Agent(
        model=script(),
        name="Weather",
        description="Knows it.",
        system_prompt="SECRET",
        tools=[look],
    )
    about = adapt(helper).describe()
    assert (about.name, about.description) == ("Weather", "Knows it.")
    assert [(skill.id, skill.description) for skill in about.skills] == [
        ("look", "Look at the weather.")
    ]
    assert "SECRET" not in str(about)


def test_session_managers_are_refused(tmp_path):
    kept = agent("x", session_manager=FileSessionManager("one", storage_dir=str(tmp_path)))
    with pytest.raises(TargetError, match="session manager"):
        build_app(kept)
    with pytest.raises(TargetError, match="str"):
        adapt(Factory(lambda: "x", "x"))
