"""Conversations in the process and in a storage."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_pydantic_ai import adapt
from pydantic_ai import Agent

from a2a_adapters import File, InvalidInputError, Limits, ResumeError
from tests.plugins.pydantic_ai.support import Fake, agent, calling, said, script
from tests.plugins.restarts import Process
from tests.plugins.sql.conftest import new_url
from tests.support.adapters import answer, ask

PNG = File(content=b"\xff\x00png", media_type="image/png")


def process(url, made, name="agent"):
    return Process(url, adapt(made), name)


def listener():
    return Agent(Fake(lambda messages: " ".join(said(messages))))


async def test_conversations_continue():
    adapter = adapt(listener())
    assert [answer(await ask(adapter, text)) for text in ("one", "two")] == ["one", "one two"]


async def test_conversations_continue_after_a_restart(url):
    heard = []
    for text in ("one", "two", "three"):
        async with process(url, listener()) as adapter:
            heard.append(answer(await ask(adapter, text)))
    assert heard == ["one", "one two", "one two three"]


async def test_images_are_part_of_the_conversation(url):
    model = script("A cat.", "As I said.")
    for part in (PNG, "sure?"):
        async with process(url, Agent(model)) as adapter:
            await ask(adapter, part)
    [[image], _] = said(model.heard[-1])
    assert (image.data, image.media_type) == (PNG.content, "image/png")


async def test_owners_contexts_and_agents_are_isolated(url):
    for text in ("hi", "ho"):
        for name in ("first", "second"):
            async with process(url, listener(), name) as adapter:
                for owner in ("ann", "bob"):
                    for context_id in ("one", "two"):
                        words = f"{text}.{name}.{owner}.{context_id}"
                        heard = answer(
                            await ask(adapter, words, owner=owner, context_id=context_id)
                        )
                        before = f"{words.replace('ho.', 'hi.')} " if text == "ho" else ""
                        assert heard == before + words


async def test_failed_runs_do_not_change_the_conversation():
    model = script("fine", RuntimeError("broken"), "fine again")
    adapter = adapt(Agent(model))
    await ask(adapter, "one")
    with pytest.raises(RuntimeError):
        await ask(adapter, "two")
    await ask(adapter, "three")
    assert said(model.heard[-1]) == ["one", "three"]


async def test_memory_evicts_conversations():
    adapter = adapt(listener(), limits=Limits(conversations=1))
    await ask(adapter, "one", context_id="a")
    await ask(adapter, "two", context_id="b")
    assert answer(await ask(adapter, "three", context_id="a")) == "three"


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

    async with process(url, Agent(Fake(late))) as sleeper, process(url, listener()) as other:
        paused = asyncio.create_task(ask(sleeper, "lost", task_id="paused"))
        await begun.wait()
        assert answer(await ask(other, "kept", task_id="newer")) == "kept"
        go_on.set()
        with pytest.raises(ResumeError, match="Another process"):
            await paused
        assert answer(await ask(other, "next", task_id="next")) == "kept next"
