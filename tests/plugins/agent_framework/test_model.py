"""An agent with a real local model."""

from __future__ import annotations

import pytest
from agent_framework import Agent, Content, ContextProvider, Message

from tests.support.real_model import ASKED, TOLD, address, check_it_streams

openai = pytest.importorskip("agent_framework.openai", reason="needs agent-framework-openai")

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]


class Example(ContextProvider):
    """Shows the model, which has no chat tuning, what is wanted."""

    async def before_run(self, *, context, **_):
        asked = Content.from_text(ASKED)
        told = Content.from_text(TOLD)
        context.extend_messages(self, [Message("user", [asked]), Message("assistant", [told])])


async def test_a_real_model_streams_its_answer():
    client = openai.OpenAIChatCompletionClient("local", base_url=address(), api_key="none")
    guide = Agent(
        client=client,
        name="guide",
        context_providers=[Example("example")],
        default_options={"temperature": 0, "max_tokens": 24, "stop": ["\n", "<"]},
    )
    await check_it_streams(guide)
