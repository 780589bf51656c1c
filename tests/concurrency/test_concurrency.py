"""Context shared between runs."""

from __future__ import annotations

import asyncio
import gc

import pytest

from a2a_adapters.concurrency import BoundedMap, bounded, in_background, within


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
