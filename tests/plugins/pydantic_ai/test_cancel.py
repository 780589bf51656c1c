"""Cancelled and abandoned runs end immediately, and failed ones change nothing."""

from __future__ import annotations

import asyncio

from a2a_adapters_pydantic_ai import adapt
from pydantic_ai import Agent

from tests.plugins.pydantic_ai import support
from tests.plugins.pydantic_ai.support import Fake, agent, calling
from tests.support.adapters import request
from tests.support.agents import serving
from tests.support.outliving import Blocking, check_it_learns_of_cancellation


class TestRunning(serving.Running):
    support = support


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
