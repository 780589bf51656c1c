"""Context shared between runs, producers in tasks, and calls that outlive theirs."""

from __future__ import annotations

import asyncio
import gc
from contextlib import aclosing

import pytest

from a2a_adapters import build_app
from a2a_adapters.concurrency import BoundedMap, bounded, in_background, produced, within
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.support.outliving import Blocking, check_it_learns_of_cancellation


def test_a_bounded_map_drops_the_value_set_least_recently():
    kept = BoundedMap(2)
    kept["a"], kept["b"] = 1, 2
    kept["a"] = 3
    kept["c"] = 4
    assert [kept.get(key) for key in "abc"] == [3, None, 4]
    assert list(kept.values()) == [3, 4]
    assert kept.pop("a") == 3
    assert ("a" in kept, "c" in kept, len(kept)) == (False, True, 1)
    assert kept.pop("a") is None
    kept.clear()
    assert len(kept) == 0


def test_a_bounded_map_drops_values_that_are_too_old(monkeypatch):
    now = 100.0
    monkeypatch.setattr(bounded.time, "monotonic", lambda: now)
    kept = BoundedMap(9, seconds=10)
    kept["a"] = 1
    now = 105.0
    kept["b"] = 2
    assert kept.get("a") == 1
    now = 111.0
    assert kept.get("a") is None
    assert kept.pop("b") == 2


async def test_work_in_the_background_is_not_lost():
    begun, may_end = asyncio.Event(), asyncio.Event()
    done = []

    async def work():
        begun.set()
        await may_end.wait()
        done.append(1)

    task = in_background(work())
    await begun.wait()
    gc.collect()
    may_end.set()
    await task
    assert done == [1]


async def test_a_ready_result_is_returned_after_its_deadline():
    async def ready():
        return 1

    assert await within(0, ready()) == 1


async def test_a_waiting_awaitable_continues_normally():
    async def waiting():
        await asyncio.sleep(0)
        with pytest.raises(KeyError):
            await failing()
        return asyncio.current_task()

    async def failing():
        await asyncio.sleep(0)
        raise KeyError

    assert await within(asyncio.get_running_loop().time() + 60, waiting()) is asyncio.current_task()
    with pytest.raises(KeyError):
        await within(asyncio.get_running_loop().time() + 60, failing())


async def test_an_awaitable_is_cancelled_at_its_deadline():
    ended = []

    async def waiting():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(1)

    with pytest.raises(TimeoutError):
        await within(asyncio.get_running_loop().time(), waiting())
    assert ended == [1]
    task = asyncio.ensure_future(within(asyncio.get_running_loop().time() + 60, waiting()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [1, 1]


async def test_all_items_are_yielded_in_order():
    async def produce(put):
        for number in range(100):
            await put(number)

    assert [item async for item in produced(produce)] == list(range(100))


async def test_a_producer_waits_for_its_reader():
    made = []

    async def produce(put):
        for number in range(1000):
            made.append(number)
            await put(number)

    async with aclosing(produced(produce)) as items:
        assert await anext(items) == 0
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(made) < 50


async def test_closing_cancels_the_producer():
    cancelled = asyncio.Event()

    async def produce(put):
        await put("one")
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with aclosing(produced(produce)) as items:
        assert await anext(items) == "one"
    assert cancelled.is_set()


async def test_a_cancel_while_the_producer_ends_reaches_the_reader():
    ends, may_end = asyncio.Event(), asyncio.Event()

    async def produce(put):
        await put("one")
        try:
            await asyncio.Event().wait()
        finally:
            ends.set()
            await may_end.wait()

    async def read():
        async with aclosing(produced(produce)) as items:
            assert await anext(items) == "one"

    reader = asyncio.create_task(read())
    await ends.wait()
    reader.cancel()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await reader


async def test_errors_follow_the_items():
    async def produce(put):
        await put("one")
        raise ValueError("no more")

    items = produced(produce)
    assert await anext(items) == "one"
    with pytest.raises(ValueError, match="no more"):
        await anext(items)


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
