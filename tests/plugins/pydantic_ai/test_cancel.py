"""Cancelled and abandoned runs end immediately."""

from __future__ import annotations

import asyncio
import gc

import pytest
from a2a_adapters_pydantic_ai import adapt
from pydantic_ai import Agent

from tests.plugins.pydantic_ai.support import Fake, agent, calling, said, script
from tests.support.adapters import answer, ask, request
from tests.support.outliving import Blocking, check_it_learns_of_cancellation


async def cancelled_while(adapter, begun):
    """Begin a run and cancel it when `begun` is set."""
    running = asyncio.create_task(ask(adapter, "hi"))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize("where", ["model", "tool"])
async def test_models_and_tools_are_cancelled(where):
    begun, ended = asyncio.Event(), asyncio.Event()

    async def endless() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    model = Fake(lambda _: endless()) if where == "model" else script(calling("endless"), "never")
    await cancelled_while(adapt(Agent(model, tools=[endless])), begun)
    await ended.wait()
    assert len(model.heard) == 1


async def test_blocking_tools_are_reported_and_do_not_delay_a_cancel(caplog):
    blocking = Blocking()
    made = agent(calling("endless"), "never")

    @made.tool_plain
    def endless() -> str:
        return blocking()

    await check_it_learns_of_cancellation(made, blocking, caplog)


async def test_closing_a_stream_ends_its_run():
    ended = asyncio.Event()

    class Endless(Fake):
        async def _stream(self, messages, info):
            try:
                yield "one"
                await asyncio.Event().wait()
            finally:
                ended.set()

    events = adapt(Agent(Endless(lambda _: ""))).stream(request("hi"))
    await anext(events)
    await events.aclose()
    await ended.wait()


async def test_cancelled_runs_do_not_change_the_conversation():
    begun = asyncio.Event()

    async def first(messages):
        if said(messages) == ["hi"]:
            begun.set()
            await asyncio.Event().wait()
        return " ".join(said(messages))

    adapter = adapt(Agent(Fake(first)))
    await cancelled_while(adapter, begun)
    assert answer(await ask(adapter, "ho")) == "ho"


async def test_unanswered_requests_leave_nothing_behind():
    model = script("never")
    events = adapt(Agent(model)).stream(request("hi"))
    await events.aclose()
    del events
    gc.collect()  # reports what was never awaited
    assert model.heard == []
