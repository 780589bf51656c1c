"""An agent with a real local model."""

from __future__ import annotations

import pytest
from openai import OpenAI
from smolagents import CodeAgent
from smolagents.models import ChatMessage, MessageRole, Model
from smolagents.monitoring import LogLevel

from a2a_adapters import build_app
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.smolagents.support import said
from tests.support.real_model import EXAMPLE, address

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]


class Local(Model):
    """The local model, which is too small to write code: what it says is the final answer."""

    def __init__(self, url):
        super().__init__()
        self._url = url

    def generate(self, messages, **_):
        asked = {"role": "user", "content": said(messages)[-1]}
        client = OpenAI(base_url=self._url, api_key="none")
        options = {"temperature": 0, "max_tokens": 24, "stop": ["\n", "<"]}
        made = client.chat.completions.create(model="local", messages=[*EXAMPLE, asked], **options)
        code = f"final_answer({made.choices[0].message.content!r})"
        return ChatMessage(MessageRole.ASSISTANT, f"<code>\n{code}\n</code>")


async def test_a_real_model_answers():
    guide = CodeAgent(tools=[], model=Local(address()), verbosity_level=LogLevel.OFF)
    async with running(build_app(guide)) as url, connect(url) as caller:
        task = await send(caller, user_message("What is the capital of France?"))
    assert "Paris" in answer_of(task)
