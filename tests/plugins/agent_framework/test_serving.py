"""Answers: text, thoughts, tools, files, structured output, usage, limits and failures."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_agent_framework import adapt
from agent_framework import (
    Agent,
    Content,
    ContextProvider,
    FunctionInvocationContext,
    Message,
    tool,
)
from agent_framework.exceptions import (
    ChatClientContentFilterException,
    ChatClientException,
    ChatClientInvalidAuthException,
)
from pydantic import BaseModel

from a2a_adapters import (
    AgentFailedError,
    Factory,
    File,
    InvalidInputError,
    Output,
    Progress,
    Rejected,
    TargetError,
    TaskMetadata,
    Text,
    ToolCall,
    ToolResult,
    as_json,
)
from tests.plugins.agent_framework.support import Fake, agent, calling, results, said, script
from tests.support.adapters import answer, ask, data, deltas, only


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

    thought = Content.from_text_reasoning(text="hm")
    helper = agent(
        [thought, "Let me see.", calling("look", city="Rome")], "It rains.", tools=[look]
    )
    events = await ask(adapt(helper), "hi", wants_progress=True)
    assert answer(events) == "Let me see.\n\nIt rains."
    assert only(events, Progress) == Progress("hm", {"kind": "thought"})
    assert only(events, ToolCall) == ToolCall("c1", "look", {"city": "Rome"})
    assert only(events, ToolResult) == ToolResult("c1", "look", "rain in Rome")
    quiet = await ask(adapt(agent([thought, "y"])), "hi")
    assert not [event for event in quiet if isinstance(event, Progress)]


async def test_structured_output_is_data_with_its_schema():
    helper = agent('{"city": "Rome", "degrees": 20}', default_options={"response_format": Weather})
    events = await ask(adapt(helper), "hi")
    assert as_json(data(events)) == [{"city": "Rome", "degrees": 20}]
    assert deltas(events) == []


async def test_files_reach_the_model_and_come_back():
    client = Fake(lambda messages: [each for each in messages[-1].contents if each.type == "data"])
    image = File(content=b"pixels", media_type="image/png", filename="a.png")
    events = await ask(adapt(Agent(client=client)), Text("look"), image)
    text, shown = client.heard[0][0].contents
    assert (text.text, shown.media_type) == ("look", "image/png")
    [part] = only(events, Output).parts
    assert (part.content, part.media_type) == (b"pixels", "image/png")


async def test_files_by_address_are_passed_on():
    there = Content.from_uri("https://files.example/a.png", media_type="image/png")
    [part] = only(await ask(adapt(agent(["Look:", there])), "hi"), Output).parts
    assert (part.url, part.media_type) == ("https://files.example/a.png", "image/png")


async def test_errors_of_the_model_fail_the_task():
    broken = Content.from_error(message="secret", error_code="overloaded")
    with pytest.raises(AgentFailedError) as raised:
        await ask(adapt(agent(["some", broken])), "hi")
    assert raised.value.category == "model_unavailable"
    assert "secret" not in str(raised.value)


async def test_empty_messages_are_refused():
    with pytest.raises(InvalidInputError, match="empty"):
        await ask(adapt(agent("never")), Text(" "))


async def test_tools_find_the_request():
    @tool
    def me(ctx: FunctionInvocationContext) -> str:
        """Name the caller."""
        request = ctx.kwargs["a2a"]
        return f"{request.owner} in {request.context_id}"

    helper = Agent(
        client=Fake(lambda messages: results(messages).get("c1") or calling("me")), tools=[me]
    )
    events = await ask(adapt(helper), "hi", owner="ann", context_id="trip")
    assert answer(events) == "ann in trip"


@pytest.mark.parametrize(
    "made", [["some", ("content_filter",)], ChatClientContentFilterException("x")]
)
async def test_filters_reject_the_task(made):
    events = await ask(adapt(agent(made)), "hi")
    assert "content filter" in only(events, Rejected).reason


async def test_the_limit_of_tool_calls_rejects_the_task():
    @tool
    def again() -> str:
        """Go on."""
        return "more"

    client = Fake(lambda messages: calling("again", f"c{len(messages)}"))
    client.function_invocation_configuration["max_iterations"] = 3
    events = await ask(adapt(Agent(client=client, tools=[again])), "hi")
    assert only(events, Rejected).reason == "The agent reached its limit of tool calls."
    assert answer(events) == ""


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (ChatClientInvalidAuthException("secret"), "model_refused"),
        (ChatClientException("secret"), "model_unavailable"),
    ],
)
async def test_failures_have_a_category_and_no_details(error, category):
    with pytest.raises(AgentFailedError) as raised:
        await ask(adapt(agent(error)), "hi")
    assert raised.value.category == category
    assert "secret" not in str(raised.value)


async def test_failed_runs_leave_the_conversation_unchanged():
    client = script("one", RuntimeError("down"), "three")
    adapter = adapt(Agent(client=client))
    await ask(adapter, "first")
    with pytest.raises(RuntimeError):
        await ask(adapter, "second")
    await ask(adapter, "third")
    assert said(client.heard[-1]) == ["first", "third"]


async def test_agents_with_context_providers_remember():
    class Weather(ContextProvider):
        async def before_run(self, *, context, **_):
            context.extend_messages(self, [Message("user", [Content.from_text("It rains.")])])

    client = script("one", "two")
    adapter = adapt(Agent(client=client, context_providers=[Weather("weather")]))
    await ask(adapter, "first")
    await ask(adapter, "second")
    assert said(client.heard[-1]) == ["It rains.", "first", "second"]


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


def test_the_card_has_the_tools_and_no_instructions():
    @tool
    def look(city: str) -> str:
        """Look at the weather."""
        return city

    helper = agent(name="Weather", description="Knows it.", instructions="SECRET", tools=[look])
    about = adapt(helper).describe()
    assert (about.name, about.description) == ("Weather", "Knows it.")
    assert [(skill.id, skill.description) for skill in about.skills] == [
        ("look", "Look at the weather.")
    ]
    assert "SECRET" not in str(about)


def test_other_objects_are_refused():
    with pytest.raises(TargetError, match="str"):
        adapt(Factory(lambda: "x", "x"))
