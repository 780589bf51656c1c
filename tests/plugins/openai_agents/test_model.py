"""An agent with a real local model, called by the SDK's OpenAI client."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from a2a_adapters_openai_agents import adapt
from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, RunConfig
from agents.run import ModelInputData
from openai import AsyncOpenAI

from a2a_adapters import build_app
from a2a_adapters.testing import connect, running, stream, user_message

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]


# The model is not tuned for chat: an example shows the task.
EXAMPLE = [
    {"role": "user", "content": "What is the capital of Italy?"},
    {"role": "assistant", "content": "The capital of Italy is Rome."},
]


@pytest.fixture(scope="module")
def address():
    sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
    from local_model import local_model

    return local_model()


def after_the_example(asked):
    return ModelInputData(input=[*EXAMPLE, *asked.model_data.input], instructions=None)


async def test_a_real_model_streams_its_answer(address):
    config = RunConfig(
        call_model_input_filter=after_the_example,
        model_settings=ModelSettings(
            temperature=0, max_tokens=24, extra_args={"stop": ["\n", "<"]}
        ),
    )
    async with AsyncOpenAI(base_url=address, api_key="none") as client:
        agent = Agent(name="guide", model=OpenAIChatCompletionsModel("local", client))
        guide = adapt(agent, run_config=config)
        async with running(build_app(guide)) as url, connect(url) as caller:
            events = await stream(caller, user_message("What is the capital of France?"))
    updates = [event.artifact_update for event in events if event.HasField("artifact_update")]
    assert len(updates) > 3, "it streams token by token"
    assert "Paris" in "".join(p.text for update in updates for p in update.artifact.parts)
