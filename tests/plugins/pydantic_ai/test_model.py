"""An agent with a real local model."""

from __future__ import annotations

import pytest
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.function import FunctionModel

from tests.plugins.pydantic_ai.support import said
from tests.support.real_model import EXAMPLE, address, check_it_streams

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]


def local():
    """Return the model; the framework's own OpenAI model needs a newer client than CrewAI."""

    async def complete(messages, info):
        asked = [{"role": "user", "content": text} for text in said(messages)]
        async with AsyncOpenAI(base_url=address(), api_key="none") as client:
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


async def test_a_real_model_streams_its_answer():
    await check_it_streams(Agent(local(), name="guide"))
