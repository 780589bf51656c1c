"""Cancelled and abandoned runs end immediately, and failed ones change nothing."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest
from a2a_adapters_openai_agents import OpenAIAgentsAdapter, adapt
from agents import Agent, function_tool

from tests.plugins.openai_agents import support
from tests.plugins.openai_agents.support import Fake, calling, delta, script
from tests.support.adapters import ask, request
from tests.support.agents import serving


class TestRunning(serving.Running):
    support = support

    async def check_stopped(self, stopped):
        await stopped.wait()  # the SDK cancels its tools after the run


async def cancelled_while(adapter, begun):
    """Begin a run and cancel it when `begun` is set."""
    running = asyncio.create_task(ask(adapter, "hi"))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


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


async def test_runs_that_are_not_resumed_leave_nothing_behind():
    model = script("never")
    events = OpenAIAgentsAdapter.resume(adapt(Agent(name="helper", model=model)), request("hi"))
    await events.aclose()
    del events
    gc.collect()  # coroutines that were never awaited would be reported now
    assert model.heard == []
