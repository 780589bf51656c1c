"""Turns of tasks, also of several event loops."""

from __future__ import annotations

import asyncio
import threading

import pytest

from a2a_adapters.concurrency import Turns


async def test_tasks_take_turns_in_order():
    turns, log = Turns(), []

    async def use(name):
        async with turns:
            log.append(name)
            await asyncio.sleep(0)
            log.append(name)

    await asyncio.gather(*map(use, "abc"))
    assert log == [*"aabbcc"]


async def test_tasks_that_are_cancelled_lose_their_turn():
    turns, log = Turns(), []

    async def use(name):
        async with turns:
            log.append(name)

    async with turns:
        waiting = [asyncio.create_task(use(name)) for name in "abc"]
        await asyncio.sleep(0)
        waiting[0].cancel()
    waiting[1].cancel()  # its turn has come
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [isinstance(each, asyncio.CancelledError) for each in results] == [True, True, False]
    assert log == ["c"]


def test_event_loops_take_turns():
    turns, log = Turns(), []
    has_turn, asked = threading.Event(), threading.Event()

    async def first():
        async with turns:
            has_turn.set()
            await asyncio.to_thread(asked.wait, 60)
            log.append("first")

    async def second():
        turn = asyncio.create_task(use())
        await asyncio.sleep(0)
        asked.set()
        await turn

    async def use():
        async with turns:
            log.append("second")

    thread = threading.Thread(target=asyncio.run, args=[first()])
    thread.start()
    has_turn.wait(60)
    asyncio.run(second())
    thread.join()
    assert log == ["first", "second"]


def test_an_event_loop_that_is_closed_has_no_turn():
    turns = Turns()
    loop = asyncio.new_event_loop()
    loop.run_until_complete(turns.__aenter__())
    loop.close()

    async def use():
        async with turns:
            return True

    assert asyncio.run(use())


async def test_an_error_ends_a_turn():
    turns = Turns()
    with pytest.raises(ValueError, match="x"):
        async with turns:
            raise ValueError("x")
    async with turns:
        pass


async def test_a_cancelled_waiter_does_not_block_the_next():
    turns, order = Turns(), []

    async def take(name):
        async with turns:
            order.append(name)

    async with turns:
        waiting = [asyncio.create_task(take(n)) for n in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert order == [1, 2]


async def test_a_turn_that_comes_with_the_cancellation_is_passed_on():
    turns, order = Turns(), []

    async def take(name):
        async with turns:
            order.append(name)

    await turns.__aenter__()
    first, second = (asyncio.create_task(take(name)) for name in "ab")
    await asyncio.sleep(0)
    await turns.__aexit__()
    first.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    assert order == ["b"]
