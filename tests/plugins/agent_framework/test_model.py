"""An agent with a real local model."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from agent_framework import Agent, Content, ContextProvider, Message

from a2a_adapters import build_app
from a2a_adapters.testing import connect, running, stream, user_message

openai = pytest.importorskip("agent_framework.openai", reason="needs agent-framework-openai")

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]


class Example(ContextProvider):
    """Shows the model, which has no chat tuning, what is wanted."""

    async def before_run(self, *, context, **_):
        asked = Content.from_text("What is the capital of Italy?")
        told = Content.from_text("The capital of Italy is Rome.")
        context.extend_messages(self, [Message("user", [asked]), Message("assistant", [told])])


@pytest.fixture(scope="module")
def address():
    sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
    from local_model import local_model

    return local_model()


async def test_a_real_model_streams_its_answer(address):
    client = openai.OpenAIChatCompletionClient("local", base_url=address, api_key="none")
    guide = Agent(
        client=client,
        name="guide",
        context_providers=[Example("example")],
        default_options={"temperature": 0, "max_tokens": 24, "stop": ["\n", "<"]},
    )
    async with running(build_app(guide)) as url, connect(url) as caller:
        events = await stream(caller, user_message("What is the capital of France?"))
    updates = [event.artifact_update for event in events if event.HasField("artifact_update")]
    assert len(updates) > 3, "it streams token by token"
    assert "Paris" in "".join(p.text for update in updates for p in update.artifact.parts)
