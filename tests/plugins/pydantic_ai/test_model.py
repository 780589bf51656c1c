"""An agent with a real local model."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.function import FunctionModel

from a2a_adapters import build_app
from a2a_adapters.testing import connect, running, stream, user_message
from tests.plugins.pydantic_ai.support import said

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]

# The model has no chat tuning: it learns from an example what is wanted.
EXAMPLE = [
    {"role": "user", "content": "What is the capital of Italy?"},
    {"role": "assistant", "content": "The capital of Italy is Rome."},
]


@pytest.fixture(scope="module")
def address():
    sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
    from local_model import local_model

    return local_model()


def local(address):
    """Return the model; the framework's own OpenAI model needs a newer client than CrewAI."""

    async def complete(messages, info):
        asked = [{"role": "user", "content": text} for text in said(messages)]
        async with AsyncOpenAI(base_url=address, api_key="none") as client:
            chunks = await client.chat.completions.create(
                model="local",
                messages=[*EXAMPLE, *asked],
                temperature=0,
                max_tokens=24,
                stop=["\n", "<"],
                stream=True,
            )
            async for chunk in chunks:
                if chunk.choices and (text := chunk.choices[0].delta.content):
                    yield text

    return FunctionModel(stream_function=complete)


async def test_a_real_model_streams_its_answer(address):
    guide = Agent(local(address), name="guide")
    async with running(build_app(guide)) as url, connect(url) as caller:
        events = await stream(caller, user_message("What is the capital of France?"))
    updates = [event.artifact_update for event in events if event.HasField("artifact_update")]
    assert len(updates) > 3, "it streams token by token"
    assert "Paris" in "".join(p.text for update in updates for p in update.artifact.parts)
