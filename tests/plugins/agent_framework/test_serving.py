"""Answers: text, thoughts, tools, files, structured output, usage, limits and failures."""

from __future__ import annotations

import asyncio
from typing import Any

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

from a2a_adapters import BlockedError, File, Output, Rejected, Text
from a2a_adapters.plugin import as_json
from tests.plugins.agent_framework import support
from tests.plugins.agent_framework.support import Fake, agent, calling, said, script
from tests.support.adapters import answer, ask, data, deltas, failure, only
from tests.support.agents import serving
from tests.support.agents.isolation import TURNS, check_repeating, listening
from tests.support.agents.state import check_state, keeping
from tests.support.real_model import ASKED, TOLD, address, check_it_streams

openai = pytest.importorskip("agent_framework.openai", reason="needs agent-framework-openai")


class Weather(BaseModel):
    city: str
    degrees: int


class TestServing(serving.Serving):
    support = support
    thought = Content.from_text_reasoning(text="hm")

    def me(self):
        @tool
        def me(ctx: FunctionInvocationContext) -> str:
            """Name the caller."""
            request = ctx.kwargs["a2a"]
            return f"{request.owner} in {request.context_id}"

        return me


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
    assert await failure(adapt(agent(["some", broken])), "secret") == "model_unavailable"


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (ChatClientInvalidAuthException("secret"), "model_refused"),
        (ChatClientException("secret"), "model_unavailable"),
    ],
)
async def test_failures_have_a_category_and_no_details(error, category):
    assert await failure(adapt(agent(error)), "secret") == category


@pytest.mark.parametrize(
    "made", [["some", ("content_filter",)], ChatClientContentFilterException("x")]
)
async def test_filters_reject_the_task(made):
    with pytest.raises(BlockedError, match="content filter"):
        await ask(adapt(agent(made)), "hi")


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


async def test_agents_with_context_providers_remember():
    class Weather(ContextProvider):
        async def before_run(self, *, context, **_):
            context.extend_messages(self, [Message("user", [Content.from_text("It rains.")])])

    client = script("one", "two")
    adapter = adapt(Agent(client=client, context_providers=[Weather("weather")]))
    await ask(adapter, "first")
    await ask(adapter, "second")
    assert said(client.heard[-1]) == ["It rains.", "first", "second"]


@tool(approval_mode="always_require")
async def repeat(words: str, ctx: FunctionInvocationContext) -> str:
    """Repeat the text after yielding to other runs."""
    for _ in range(3):
        await asyncio.sleep(0)
    return f"{ctx.kwargs['a2a'].owner}: {words}"


async def test_callers_of_one_agent_are_isolated(any_storage):
    await check_repeating(any_storage, listening(support, repeat), questions=TURNS)


async def test_callers_of_a_function_are_isolated():
    await check_repeating("memory:", lambda: listening(support, repeat), questions=TURNS)


@pytest.mark.parametrize("is_workflow", [False, True], ids=["agent", "workflow"])
async def test_stored_state_names_no_class(url, tmp_path, is_workflow):
    kept = []

    @tool(approval_mode="always_require")
    def keep(value: dict[str, Any]) -> str:
        """Keep a value."""
        kept.append(value)
        return "kept"

    def make():
        if is_workflow:
            return lambda: support.team(keeping(support, keep))
        return keeping(support, keep)

    await check_state(url, tmp_path / "mark", make, kept)


class Example(ContextProvider):
    """Shows the model, which has no chat tuning, what is wanted."""

    async def before_run(self, *, context, **_):
        asked = Content.from_text(ASKED)
        told = Content.from_text(TOLD)
        context.extend_messages(self, [Message("user", [asked]), Message("assistant", [told])])


@pytest.mark.model
@pytest.mark.timeout(300)
async def test_a_real_model_streams_its_answer():
    client = openai.OpenAIChatCompletionClient("local", base_url=address(), api_key="none")
    guide = Agent(
        client=client,
        name="guide",
        context_providers=[Example("example")],
        default_options={"temperature": 0, "max_tokens": 24, "stop": ["\n", "<"]},
    )
    await check_it_streams(guide)
