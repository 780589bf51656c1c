"""The framework's own models with its OpenAI client, in the environment that has it."""

from __future__ import annotations

import importlib.metadata
from contextlib import asynccontextmanager

import pytest
from a2a_adapters_pydantic_ai import adapt
from pydantic_ai import Agent

from a2a_adapters import File, InputRequired, TaskMetadata
from a2a_adapters.testing import running
from tests.support.adapters import answer, ask, deltas, failure, only, reply
from tests.support.openai_endpoint import ANSWER, REFUSING, SECRET, STATUSES, UNREACHABLE, endpoint

pytestmark = pytest.mark.skipif(
    importlib.metadata.version("openai") < "3", reason="the framework needs openai 3"
)


@asynccontextmanager
async def made(address):
    """Yield an agent whose model is at this address."""
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async with AsyncOpenAI(base_url=address, api_key=SECRET, max_retries=0) as client:
        model = OpenAIResponsesModel("gpt-none", provider=OpenAIProvider(openai_client=client))
        yield Agent(model, instructions="Be kind.")


async def test_conversations_with_images():
    app = endpoint()
    async with running(app) as url, made(f"{url}/v1") as guide:
        adapter = adapt(guide)
        events = await ask(adapter, "hi")
        await ask(adapter, "look", File(content=b"png", media_type="image/png"))
    assert deltas(events) == ["Rome", " is", " fine."]
    assert only(events, TaskMetadata).values["usage"]["total_tokens"] == 7
    first, second = app.state.asked
    assert "Be kind." in str(first)
    roles = [item["role"] for item in second["input"] if "role" in item]
    assert roles[-2:] == ["assistant", "user"]
    assert second["input"][-1]["content"][1]["type"] == "input_image"


async def test_approvals():
    app = endpoint()
    async with running(app) as url, made(f"{url}/v1") as clerk:

        @clerk.tool_plain(requires_approval=True)
        def book(city: str) -> str:
            return f"booked {city}"

        adapter = adapt(clerk)
        assert "wants to call book(" in only(await ask(adapter, "book"), InputRequired).prompt
        assert answer(await reply(adapter, "yes")) == ANSWER
    assert app.state.asked[-1]["input"][-1]["output"] == "booked Rome"


async def failing(address):
    async with made(address) as guide:
        return await failure(adapt(guide), SECRET)


@pytest.mark.parametrize(("status", "category"), [*STATUSES, (429, "model_unavailable")])
async def test_a_provider_answers_with_an_error(status, category):
    async with running(REFUSING) as url:
        assert await failing(f"{url}/{status}/v1") == category


async def test_a_provider_cannot_be_reached():
    assert await failing(UNREACHABLE) == "model_unavailable"
