"""Remote agents as LLMs, tools and members of teams."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_llama_index import A2ALLM, a2a_tool
from llama_index.core.llms import ChatMessage, DocumentBlock, TextBlock
from workflows import Context

from a2a_adapters import ConfigurationError, RemoteAgent
from tests.plugins.llama_index import support
from tests.plugins.openai_agents.calling.support import (
    PNG,
    booking,
    everything,
    reading,
    remembering,
    served,
)
from tests.support.agents import calling


class Conversing(calling.Conversing):
    support = support

    def conversation(self, agent):
        stored = None

        async def say(text):
            nonlocal stored
            context = Context(agent) if stored is None else Context.from_dict(agent, stored)
            handler = agent.run(user_msg=text, ctx=context)
            result = await handler
            stored = handler.ctx.to_dict()
            return result.response.content

        return say


class TestModels(Conversing, calling.Models, calling.Conversations):
    framework = "llamaindex"
    model = A2ALLM


class TestTools(Conversing, calling.Tools):
    framework = "llamaindex"

    def tool(self, remote, about, **options):
        return a2a_tool(remote, about, **options)

    def described(self, tool):
        return tool.metadata.name, tool.metadata.description


async def test_a_tool_blocks_without_an_event_loop():
    async with served(remembering) as remote:
        tool = a2a_tool(remote, calling.ABOUT)
        said = await asyncio.to_thread(tool.call, message="hi")
    assert said.content.startswith("hi\n(context_id: ")


async def test_answers_are_streamed():
    async with served(remembering) as remote:
        llm = A2ALLM(remote)
        first = await llm.achat([ChatMessage("hi")])
        history = [ChatMessage("hi"), first.message, ChatMessage("ho")]
        chunks = [each.delta async for each in await llm.astream_chat(history)]
        blocking = await asyncio.to_thread(lambda: list(llm.stream_chat(history)))
    assert chunks == ["hi", " | ho", ""]
    assert blocking[-1].message.content == "hi | ho | ho"
    assert first.raw["usage"]["total_tokens"] == 7


async def test_texts_are_completed():
    async with served(remembering) as remote:
        llm = A2ALLM(remote)
        assert (await llm.acomplete("hi")).text == "hi"
        chunks = [each.delta async for each in await llm.astream_complete("hi")]
        assert "".join(chunks) == "hi"
        assert (await asyncio.to_thread(llm.complete, "hi")).text == "hi"
        assert (await asyncio.to_thread(lambda: list(llm.stream_complete("hi"))))[-1].text == "hi"


async def test_messages_have_their_speaker_and_files():
    said = [
        ChatMessage("Be kind.", role="system"),
        ChatMessage(
            [TextBlock(text="look"), DocumentBlock(data=b"1,2", document_mimetype="text/csv")]
        ),
    ]
    async with served(reading) as remote:
        answer = (await A2ALLM(remote).achat(said)).message.content
    assert answer == "[System: Be kind.][User: look][input_document text/csv 1,2]"


async def test_data_is_text_and_images_are_blocks():
    async with served(everything) as remote:
        message = (await A2ALLM(remote).achat([ChatMessage("hi")])).message
    text, image = message.blocks
    assert text.text.startswith("here:\n{")
    assert image.resolve_image().read() == PNG.content


async def test_a_remote_agent_is_a_member_of_a_team():
    async with served(booking) as remote:
        desk = support.made(A2ALLM(remote), name="desk")
        assert str(await support.team(desk).run(user_msg="book")) == "Which city?"


@pytest.mark.parametrize("made", [A2ALLM, a2a_tool])
def test_remote_agents_keep_their_options(made):
    with pytest.raises(ConfigurationError, match="timeout"):
        made(RemoteAgent(calling.NOWHERE), timeout=1)
