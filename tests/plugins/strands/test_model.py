"""An agent with a real local model."""

from __future__ import annotations

import pytest
from strands import Agent
from strands.models.openai import OpenAIModel

from tests.support.real_model import ASKED, TOLD, address, check_it_streams

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]

EXAMPLE = [
    {"role": "user", "content": [{"text": ASKED}]},
    {"role": "assistant", "content": [{"text": TOLD}]},
]


async def test_a_real_model_streams_its_answer():
    def guide() -> Agent:
        model = OpenAIModel(
            client_args={"base_url": address(), "api_key": "none"},
            model_id="local",
            params={"temperature": 0, "max_tokens": 24, "stop": ["\n", "<"]},
        )
        return Agent(model=model, messages=[*EXAMPLE], name="guide")

    await check_it_streams(guide)
