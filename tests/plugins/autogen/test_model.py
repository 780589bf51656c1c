"""A team with a real, local language model, called by AutoGen's own OpenAI client."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import AssistantMessage, ModelInfo, UserMessage

from a2a_adapters import build_app
from a2a_adapters.testing import connect, running, stream, user_message

pytestmark = [
    pytest.mark.model,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:Resolved model mismatch"),
]

# The model is not tuned for chat: an example shows the task.
EXAMPLE = [
    UserMessage(content="What is the capital of Italy?", source="user"),
    AssistantMessage(content="The capital of Italy is Rome.", source="guide"),
]


@pytest.fixture(scope="module")
def address():
    sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
    from local_model import local_model

    return local_model()


async def test_a_real_model_streams_its_answer(address):
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    client = OpenAIChatCompletionClient(
        model="local",
        base_url=address,
        api_key="none",
        temperature=0,
        max_tokens=24,
        stop=["\n", "<"],
        model_info=ModelInfo(
            vision=False,
            function_calling=False,
            json_output=False,
            family="unknown",
            structured_output=False,
        ),
    )

    def make() -> AssistantAgent:
        return AssistantAgent(
            "guide",
            client,
            model_client_stream=True,
            system_message=None,
            model_context=UnboundedChatCompletionContext(initial_messages=EXAMPLE),
        )

    async with running(build_app(make)) as url, connect(url) as caller:
        events = await stream(caller, user_message("What is the capital of France?"))
    updates = [event.artifact_update for event in events if event.HasField("artifact_update")]
    assert len(updates) > 3, "it streams token by token"
    assert "Paris" in "".join(p.text for update in updates for p in update.artifact.parts)
    await client.close()
