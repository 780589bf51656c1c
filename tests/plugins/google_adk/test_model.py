"""An agent with a real local model."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from a2a_adapters_google_adk import adapt
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.genai.types import Content, GenerateContentConfig, Part

from a2a_adapters import build_app
from a2a_adapters.testing import connect, running, stream, user_message

openai = pytest.importorskip("google.adk.integrations.openai", reason="needs openai")

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]

# The model has no chat tuning: it learns from an example what is wanted.
EXAMPLE = [
    Content(role="user", parts=[Part(text="What is the capital of Italy?")]),
    Content(role="model", parts=[Part(text="The capital of Italy is Rome.")]),
]


@pytest.fixture(scope="module")
def address():
    sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
    from local_model import local_model

    return local_model()


async def test_a_real_model_streams_its_answer(address):
    model = openai.OpenAILlm(model="local", base_url=address, api_key="none", max_tokens=24)
    config = GenerateContentConfig(temperature=0, stop_sequences=["\n", "<"])
    guide = LlmAgent(name="guide", model=model, generate_content_config=config)
    served = adapt(guide, run_config=RunConfig(model_input_context=EXAMPLE))
    async with running(build_app(served)) as url, connect(url) as caller:
        events = await stream(caller, user_message("What is the capital of France?"))
    updates = [event.artifact_update for event in events if event.HasField("artifact_update")]
    assert len(updates) > 3, "it streams token by token"
    assert "Paris" in "".join(p.text for update in updates for p in update.artifact.parts)
