"""An agent with a real local model."""

from __future__ import annotations

import pytest
from a2a_adapters_google_adk import adapt
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.genai.types import Content, GenerateContentConfig, Part

from tests.support.real_model import ASKED, TOLD, address, check_it_streams

openai = pytest.importorskip("google.adk.integrations.openai", reason="needs openai")

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]

EXAMPLE = [
    Content(role="user", parts=[Part(text=ASKED)]),
    Content(role="model", parts=[Part(text=TOLD)]),
]


async def test_a_real_model_streams_its_answer():
    model = openai.OpenAILlm(model="local", base_url=address(), api_key="none", max_tokens=24)
    config = GenerateContentConfig(temperature=0, stop_sequences=["\n", "<"])
    guide = LlmAgent(name="guide", model=model, generate_content_config=config)
    served = adapt(guide, run_config=RunConfig(model_input_context=EXAMPLE))
    await check_it_streams(served)
