"""Turns of tasks that use one object."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from a2a_adapters.concurrency import Turns


class Owner:
    """Is equal to others, and has no hash."""

    __hash__ = None

    def __eq__(self, other):
        return True


async def test_tasks_take_turns_in_order():
    turns, owner, log = Turns(), Owner(), []

    async def use(name):
        async with turns.of(owner):
            log.append(name)
            await asyncio.sleep(0)
            log.append(name)

    await asyncio.gather(*map(use, "abc"))
    assert log == [*"aabbcc"]


async def test_each_object_has_turns_of_its_own():
    turns, one, other = Turns(), Owner(), Owner()
    async with turns.of(one), turns.of(other):
        pass
    del one, other
    gc.collect()
    assert not turns._turns  # private: nothing else shows what is left


async def test_tasks_that_are_cancelled_lose_their_turn():
    turns, owner, log = Turns(), Owner(), []

    async def use(name):
        async with turns.of(owner):
            log.append(name)

    async with turns.of(owner):
        waiting = [asyncio.create_task(use(name)) for name in "abc"]
        await asyncio.sleep(0)
        waiting[0].cancel()
    waiting[1].cancel()  # its turn has come
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [isinstance(each, asyncio.CancelledError) for each in results] == [True, True, False]
    assert log == ["c"]


def test_event_loops_take_turns():
    turns, owner, log = Turns(), Owner(), []
    has_turn, asked = threading.Event(), threading.Event()

    async def first():
        async with turns.of(owner):
            has_turn.set()
            await asyncio.to_thread(asked.wait, 60)
            log.append("first")

    async def second():
        turn = asyncio.create_task(use())
        await asyncio.sleep(0)
        asked.set()
        await turn

    async def use():
        async with turns.of(owner):
            log.append("second")

    thread = threading.Thread(target=asyncio.run, args=[first()])
    thread.start()
    has_turn.wait(60)
    asyncio.run(second())
    thread.join()
    assert log == ["first", "second"]


def test_an_event_loop_that_is_closed_has_no_turn():
    turns, owner = Turns(), Owner()
    loop = asyncio.new_event_loop()
    loop.run_until_complete(turns.of(owner).__aenter__())
    loop.close()

    async def use():
        async with turns.of(owner):
            return True

    assert asyncio.run(use())


async def test_an_error_ends_a_turn():
    turns, owner = Turns(), Owner()
    with pytest.raises(ValueError, match="x"):
        async with turns.of(owner):
            raise ValueError("x")
    async with turns.of(owner):
        pass
