"""An agent with a real local model, called by the SDK's OpenAI client."""

from __future__ import annotations

import pytest
from a2a_adapters_openai_agents import adapt
from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, RunConfig
from agents.run import ModelInputData
from openai import AsyncOpenAI

from tests.support.real_model import EXAMPLE, address, check_it_streams

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]


def after_the_example(asked):
    return ModelInputData(input=[*EXAMPLE, *asked.model_data.input], instructions=None)


async def test_a_real_model_streams_its_answer():
    config = RunConfig(
        call_model_input_filter=after_the_example,
        model_settings=ModelSettings(
            temperature=0, max_tokens=24, extra_args={"stop": ["\n", "<"]}
        ),
    )
    async with AsyncOpenAI(base_url=address(), api_key="none") as client:
        agent = Agent(name="guide", model=OpenAIChatCompletionsModel("local", client))
        await check_it_streams(adapt(agent, run_config=config))
