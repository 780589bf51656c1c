"""Cancelled and abandoned runs end immediately."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest
from a2a_adapters_openai_agents import OpenAIAgentsAdapter, adapt
from agents import Agent, function_tool

from tests.plugins.openai_agents.support import Fake, calling, delta, script
from tests.support.adapters import answer, ask, request


async def cancelled_while(adapter, begun):
    """Begin a run and cancel it when `begun` is set."""
    running = asyncio.create_task(ask(adapter, "hi"))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_models_are_cancelled():
    begun, ended = asyncio.Event(), asyncio.Event()

    async def forever(_):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    await cancelled_while(adapt(Agent(name="helper", model=Fake(forever))), begun)
    await ended.wait()


async def test_tools_are_cancelled_and_no_further_model_is_called():
    begun, ended = asyncio.Event(), asyncio.Event()

    @function_tool
    async def endless() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    model = script(calling("endless"), "never")
    await cancelled_while(adapt(Agent(name="helper", model=model, tools=[endless])), begun)
    await ended.wait()
    assert len(model.heard) == 1


async def test_blocking_tools_do_not_delay_a_cancel():
    loop, begun, release = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    @function_tool
    def endless() -> str:
        loop.call_soon_threadsafe(begun.set)
        release.wait()
        return "late"

    model = script(calling("endless"), "never")
    try:
        await cancelled_while(adapt(Agent(name="helper", model=model, tools=[endless])), begun)
    finally:
        release.set()
    assert len(model.heard) == 1


async def test_closing_a_stream_ends_its_run():
    ended = asyncio.Event()

    class Endless(Fake):
        async def stream_response(self, *_, **__):
            try:
                yield delta("one")
                await asyncio.Event().wait()
            finally:
                ended.set()

    events = adapt(Agent(name="helper", model=Endless(lambda _: ""))).stream(request("hi"))
    await anext(events)
    await events.aclose()
    await ended.wait()


async def test_cancelled_runs_do_not_change_the_conversation():
    begun = asyncio.Event()

    async def first(items):
        if items[-1]["content"] == "hi":
            begun.set()
            await asyncio.Event().wait()
        return str(len(items))

    adapter = adapt(Agent(name="helper", model=Fake(first)))
    await cancelled_while(adapter, begun)
    assert answer(await ask(adapter, "ho")) == "1"


async def test_unanswered_requests_leave_nothing_behind():
    model = script("never")
    for answer_it in (OpenAIAgentsAdapter.stream, OpenAIAgentsAdapter.resume):
        events = answer_it(adapt(Agent(name="helper", model=model)), request("hi"))
        await events.aclose()
    del events
    gc.collect()  # coroutines that were never awaited would be reported now
    assert len(model.heard) == 0
