"""An agent with a real local model."""

from __future__ import annotations

import pytest
from llama_index.core.llms import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms.function_calling import FunctionCallingLLM
from openai import AsyncOpenAI

from tests.plugins.llama_index.support import made
from tests.support.real_model import EXAMPLE, address, check_it_streams

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]


class Local(FunctionCallingLLM):
    """The local model, by the API of OpenAI: LlamaIndex's own class needs another package."""

    url: str

    @property
    def metadata(self):
        return LLMMetadata(is_function_calling_model=True, is_chat_model=True)

    def _prepare_chat_with_tools(self, tools, *, chat_history=None, **_):
        return {"messages": chat_history}

    def get_tool_calls_from_response(self, *_, **__):
        return []

    async def astream_chat(self, messages, **_):
        said = [*EXAMPLE, *({"role": str(m.role.value), "content": m.content} for m in messages)]
        client = AsyncOpenAI(base_url=self.url, api_key="none")
        options = {"temperature": 0, "max_tokens": 24, "stop": ["\n", "<"]}
        stream = await client.chat.completions.create(
            model="local", messages=said, stream=True, **options
        )

        async def chunks():
            text = ""
            async for chunk in stream:
                delta = chunk.choices[0].delta.content or ""
                text += delta
                yield ChatResponse(message=ChatMessage(text, role="assistant"), delta=delta)

        return chunks()

    def chat(self, *_, **__):
        raise NotImplementedError

    achat = complete = stream_chat = stream_complete = acomplete = astream_complete = chat


async def test_a_real_model_streams_its_answer():
    await check_it_streams(made(Local(url=address())))
