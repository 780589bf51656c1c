"""An agent of Google's ADK that knows sights."""

from __future__ import annotations

from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, Part


class Rules(BaseLlm):
    """Stands in for a language model."""

    model: str = "rules"

    async def generate_content_async(self, *_, **__):
        yield LlmResponse(content=Content(role="model", parts=[Part(text="the Colosseum")]))


guide = LlmAgent(name="guide", model=Rules(), description="Knows the sights of cities.")
