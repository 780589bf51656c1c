"""Answers: text, thoughts, tools, files, structured output, usage, limits and failures."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest
from a2a_adapters_strands import adapt
from botocore.exceptions import ClientError
from pydantic import BaseModel
from strands import Agent, ToolContext, tool
from strands.models.openai import OpenAIModel
from strands.session import FileSessionManager
from strands.types.exceptions import MaxTokensReachedException

from a2a_adapters import (
    BlockedError,
    File,
    InvalidInputError,
    Rejected,
    TargetError,
    Text,
    ToolCall,
    build_app,
)
from a2a_adapters.plugin import as_json
from tests.plugins.strands import support
from tests.plugins.strands.support import Fake, agent, calling, script
from tests.support.adapters import ask, data, failure, only
from tests.support.agents import serving
from tests.support.agents.isolation import check_repeating, listening
from tests.support.agents.state import check_state, keeping
from tests.support.real_model import ASKED, TOLD, address, check_it_streams

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

EXAMPLE = [
    {"role": "user", "content": [{"text": ASKED}]},
    {"role": "assistant", "content": [{"text": TOLD}]},
]


class Weather(BaseModel):
    city: str
    degrees: int


class TestServing(serving.Serving):
    support = support
    thought = {"thought": "hm"}  # noqa: RUF012 - a content of the model
    instructions = "system_prompt"

    def me(self):
        @tool(context=True)
        def me(tool_context: ToolContext) -> str:
            """Name the caller."""
            request = tool_context.invocation_state["a2a"]
            return f"{request.owner} in {request.context_id}"

        return me


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


async def test_files_that_no_model_can_read_are_refused():
    with pytest.raises(InvalidInputError, match="audio/ogg"):
        await ask(adapt(agent("never")), File(content=b"x", media_type="audio/ogg"))


@pytest.mark.parametrize(
    ("reason", "text"),
    [("content_filtered", "content filter"), ("guardrail_intervened", "guardrail")],
)
async def test_filters_reject_the_task(reason, text):
    with pytest.raises(BlockedError, match=text):
        await ask(adapt(agent(["some", (reason,)])), "hi")


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
    assert await failure(adapt(agent(error)), "secret") == category


async def test_an_agent_of_the_user_is_restored(capsys):
    helper = Agent(model=script("one"))
    printer = helper.callback_handler
    await ask(adapt(helper), "hi")
    assert helper.messages == []
    assert helper.callback_handler is printer
    assert capsys.readouterr().out == ""


def test_session_managers_are_refused(tmp_path):
    kept = agent("x", session_manager=FileSessionManager("one", storage_dir=str(tmp_path)))
    with pytest.raises(TargetError, match="session manager"):
        build_app(kept)


@tool(context=True)
async def repeat(words: str, tool_context: ToolContext) -> str:
    """Repeat the text, after a question in the first turn and after yielding to other runs."""
    if " " not in words:
        tool_context.interrupt("sure", "Sure?")
    for _ in range(3):
        await asyncio.sleep(0)
    return f"{tool_context.invocation_state['a2a'].owner}: {words}"


async def test_callers_of_one_agent_are_isolated():
    await check_repeating("memory:", listening(support, repeat), questions=1)


async def test_callers_of_a_function_are_isolated(url):
    await check_repeating(url, lambda: listening(support, repeat), questions=1)


async def test_stored_state_names_no_class(url, tmp_path):
    kept = []

    @tool(context=True)
    def keep(value: dict[str, Any], tool_context: ToolContext) -> str:
        """Keep a value, after a question."""
        tool_context.interrupt("sure", {"question": "Sure?", "value": value})
        kept.append(value)
        return "kept"

    await check_state(url, tmp_path / "mark", lambda: keeping(support, keep), kept)


@pytest.mark.model
@pytest.mark.timeout(300)
async def test_a_real_model_streams_its_answer():
    def guide() -> Agent:
        model = OpenAIModel(
            client_args={"base_url": address(), "api_key": "none"},
            model_id="local",
            params={"temperature": 0, "max_tokens": 24, "stop": ["\n", "<"]},
        )
        return Agent(model=model, messages=[*EXAMPLE], name="guide")

    await check_it_streams(guide)
