"""An agent with a real local model."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from strands import Agent
from strands.models.openai import OpenAIModel

from a2a_adapters import build_app
from a2a_adapters.testing import connect, running, stream, user_message

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]

# The model has no chat tuning: it learns from an example what is wanted.
EXAMPLE = [
    {"role": "user", "content": [{"text": "What is the capital of Italy?"}]},
    {"role": "assistant", "content": [{"text": "The capital of Italy is Rome."}]},
]


@pytest.fixture(scope="module")
def address():
    sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
    from local_model import local_model

    return local_model()


async def test_a_real_model_streams_its_answer(address):
    def guide() -> Agent:
        model = OpenAIModel(
            client_args={"base_url": address, "api_key": "none"},
            model_id="local",
            params={"temperature": 0, "max_tokens": 24, "stop": ["\n", "<"]},
        )
        return Agent(model=model, messages=[*EXAMPLE], name="guide")

    async with running(build_app(guide)) as url, connect(url) as caller:
        events = await stream(caller, user_message("What is the capital of France?"))
    updates = [event.artifact_update for event in events if event.HasField("artifact_update")]
    assert len(updates) > 3, "it streams token by token"
    assert "Paris" in "".join(p.text for update in updates for p in update.artifact.parts)
