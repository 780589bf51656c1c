"""What MCP servers write is clipped, and none of it hides anything or is waited for for ever."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from a2a_adapters_mcp import McpServer

from a2a_adapters import Data, Progress, RemoteAgent, RemoteOptions, RemoteTaskError, build_app
from a2a_adapters.testing import running

SERVER = [sys.executable, "-I", "-S", str(Path(__file__).with_name("hostile_server.py"))]


@asynccontextmanager
async def served():
    options = RemoteOptions(progress=True)
    async with (
        running(build_app(McpServer(SERVER))) as url,
        RemoteAgent(url, options=options) as agent,
    ):
        yield agent


def misuse(how):
    return Data({"tool": "misuse", "arguments": {"how": how}})


async def test_the_card_is_clipped():
    async with served() as agent:
        card = await agent.card()
    assert [skill.id for skill in card.skills] == ["big", "list", "misuse"]
    assert len(card.SerializeToString()) < 10_000
    texts = [card.name, card.description]
    for skill in card.skills:
        texts += [skill.name, skill.description, *skill.examples]
    assert all(text.isprintable() for text in texts)


@pytest.mark.parametrize("how", ["error", "refusal"])
async def test_errors_are_clipped(how):
    async with served() as agent:
        with pytest.raises(RemoteTaskError) as failed:
            await agent.send(misuse(how))
    assert len(str(failed.value)) < 5_000
    assert str(failed.value).isprintable()


@pytest.mark.parametrize("how", ["nested", "endlessly nested", "strange"])
async def test_what_cannot_be_read_fails_and_the_next_call_goes_on(how):
    async with served() as agent:
        talk = agent.conversation()
        with pytest.raises(RemoteTaskError, match="Error id"):
            await talk.send(misuse(how))
        assert (await talk.send(misuse("log"))).text == "fine"


async def test_progress_and_questions_are_clipped():
    async with served() as agent:
        events = [event async for event in agent.stream(misuse("progress"))]
        [told] = [event.text for event in events if isinstance(event, Progress)]
        assert len(told) <= 1_000
        assert told.isprintable()
        talk = agent.conversation()
        asked = await talk.send(misuse("question"))
        assert len(asked.question) < 5_000
        assert asked.question.isprintable()
        assert (await talk.send("yes")).text == "accept"
