"""Chains with a blocking generator function, which LangChain cannot run async."""

from __future__ import annotations

import asyncio
import threading

import pytest
from a2a_adapters_langchain import adapt
from langchain_core.output_parsers import JsonOutputParser, StrOutputParser
from langchain_core.runnables import RunnableGenerator, RunnableLambda
from langchain_core.tools import tool

from a2a_adapters import Data, Output, TextDelta, ToolCall, ToolResult
from tests.plugins.langchain.support import Scripted, answer, ask, deltas, only, request, run


def shout(chunks):
    for chunk in chunks:
        yield chunk.upper()


@tool
def look_up(word: str) -> str:
    """Look a word up."""
    return f"the {word}"


MODEL = Scripted(script=["one two three"])
SHOUTING = MODEL | StrOutputParser() | shout


async def test_chunks_are_streamed():
    assert answer(await ask(adapt(SHOUTING), "hi")) == "ONE TWO THREE"
    assert deltas(await ask(adapt(RunnableLambda(str) | RunnableGenerator(shout)), "hi")) == ["HI"]


@pytest.mark.parametrize("wants_progress", [False, True])
async def test_output_converts_the_whole_result(wants_progress):
    adapter = adapt(SHOUTING, output=lambda text: f"{text}!")
    events = await ask(adapter, "hi", wants_progress=wants_progress)
    assert answer(events) == "ONE TWO THREE!"
    assert not deltas(events)


async def test_parsed_output_of_blocking_chains_is_sent_once():
    def quote(chunks):
        for chunk in chunks:
            yield f'{{"said": "{chunk}"}}'

    events = await ask(adapt(RunnableLambda(str) | quote | JsonOutputParser()), "hi")
    assert only(events, Output).parts[0] == Data({"said": "hi"})


async def test_tools_are_reported_as_progress():
    chain = RunnableLambda(lambda word: {"word": word}) | look_up | shout
    events = await ask(adapt(chain), "cat", wants_progress=True)
    assert only(events, ToolCall).name == "look_up"
    assert only(events, ToolResult).result == "the cat"
    assert answer(events) == "THE CAT"


def counting(closed):
    def count(_):
        try:
            for number in range(1000):
                yield str(number)
        finally:
            closed.set()

    return adapt(RunnableLambda(str) | count)


@pytest.mark.parametrize("wants_progress", [False, True])
async def test_abandoned_generators_are_closed(wants_progress):
    closed = threading.Event()
    events = counting(closed).stream(request("hi", wants_progress=wants_progress))
    while await anext(events) != TextDelta("0"):
        pass
    await events.aclose()
    assert await asyncio.to_thread(closed.wait, 20)


async def test_cancel_does_not_wait_for_the_current_chunk_and_then_closes_the_generator():
    begun, go_on, closed = threading.Event(), threading.Event(), threading.Event()
    made = []

    def wait(_):
        try:
            begun.set()
            go_on.wait(60)
            for number in range(1000):
                made.append(number)
                yield "late"
        finally:
            closed.set()

    asked = request("hi")
    task = asyncio.create_task(run(adapt(RunnableLambda(str) | wait), asked))
    assert await asyncio.to_thread(begun.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not closed.is_set()
    go_on.set()
    assert await asyncio.to_thread(closed.wait, 20)
    assert made == [0]
