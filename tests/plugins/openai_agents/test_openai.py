"""The SDK's own models with its OpenAI client."""

from __future__ import annotations

import pytest
from a2a_adapters_openai_agents import adapt
from agents import Agent

from a2a_adapters import File
from a2a_adapters.testing import running
from tests.support.adapters import ask, deltas
from tests.support.openai_endpoint import ANSWER, endpoint


@pytest.fixture
async def api(monkeypatch):
    app = endpoint()
    async with running(app) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield app


async def test_agents_with_a_model_name(api):
    adapter = adapt(Agent(name="helper", instructions="Be kind.", model="gpt-none"))
    assert deltas(await ask(adapter, "hi")) == ["Rome", " is", " fine."] == _words(ANSWER)
    await ask(adapter, "look", File(content=b"png", media_type="image/png"))
    first, second = api.state.asked
    assert first["instructions"] == "Be kind."
    assert [item["role"] for item in second["input"]] == ["user", "assistant", "user"]
    assert second["input"][-1]["content"][1]["type"] == "input_image"


def _words(text):
    first, *others = text.split(" ")
    return [first, *(f" {word}" for word in others)]
