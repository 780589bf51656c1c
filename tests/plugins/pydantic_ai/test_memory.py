"""Conversations in the process and in a storage."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_pydantic_ai import adapt
from pydantic_ai import Agent

from a2a_adapters import File, InvalidInputError
from a2a_adapters.plugin import ResumeError
from tests.plugins.pydantic_ai import support
from tests.plugins.pydantic_ai.support import Fake, agent, calling, said, script
from tests.plugins.sql.conftest import new_url
from tests.support.adapters import Process, answer, ask
from tests.support.agents import memory
from tests.support.agents.memory import listener

PNG = File(content=b"\xff\x00png", media_type="image/png")


def process(url, made):
    return Process(url, adapt(made))


class TestMemory(memory.Memory):
    support = support


async def test_images_are_part_of_the_conversation(url):
    model = script("A cat.", "As I said.")
    for part in (PNG, "sure?"):
        async with process(url, Agent(model)) as adapter:
            await ask(adapter, part)
    [[image], _] = said(model.heard[-1])
    assert (image.data, image.media_type) == (PNG.content, "image/png")


async def test_conversations_have_a_maximum_size():
    adapter = adapt(agent("short", "x" * 33 * 2**20, "short"))
    await ask(adapter, "one")
    with pytest.raises(InvalidInputError, match="too long"):
        await ask(adapter, "two")
    assert answer(await ask(adapter, "three")) == "short"


async def test_tool_calls_are_part_of_the_conversation():
    model = script(calling("look"), "It rains.", "As I said.")
    made = Agent(model)

    @made.tool_plain
    def look() -> str:
        return "rain"

    adapter = adapt(made)
    await ask(adapter, "weather?")
    await ask(adapter, "sure?")
    kinds = [part.part_kind for message in model.heard[-1] for part in message.parts]
    assert kinds == ["user-prompt", "tool-call", "tool-return", "text", "user-prompt"]


async def test_paused_runs_do_not_overwrite_newer_ones(tmp_path):
    url = new_url("postgresql", tmp_path)  # SQLite has one process at a time
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def late(_):
        begun.set()
        await go_on.wait()
        return "too late"

    async with process(url, Agent(Fake(late))) as sleeper, process(url, listener(support)) as other:
        paused = asyncio.create_task(ask(sleeper, "lost", task_id="paused"))
        await begun.wait()
        assert answer(await ask(other, "kept", task_id="newer")) == "kept"
        go_on.set()
        with pytest.raises(ResumeError, match="Another process"):
            await paused
        assert answer(await ask(other, "next", task_id="next")) == "kept next"
