"""Blocking calls that outlive their task, made by functions in threads."""

from __future__ import annotations

import asyncio

from a2a_adapters import build_app
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.support.outliving import Blocking, check_it_learns_of_cancellation


async def test_a_function_that_blocks_is_logged(caplog):
    blocking = Blocking()

    def work(text):
        return blocking()

    await check_it_learns_of_cancellation(work, blocking, caplog)


async def test_a_call_in_the_loops_own_threads_is_logged(caplog):
    blocking = Blocking()

    async def work(text):
        return await asyncio.get_running_loop().run_in_executor(None, blocking)

    await check_it_learns_of_cancellation(work, blocking, caplog)


async def test_calls_that_end_in_time_are_not_reported(caplog):
    async def work(text):
        return await asyncio.to_thread(text.upper)

    async with running(build_app(work)) as url, connect(url) as client:
        assert answer_of(await send(client, user_message("hi"))) == "HI"
    assert "continue although" not in caplog.text
