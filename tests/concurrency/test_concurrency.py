"""What runs share."""

from __future__ import annotations

import asyncio
import gc

import pytest

from a2a_adapters.concurrency import BoundedMap, bounded, in_background, within
from a2a_adapters.concurrency.timeouts import Alarm, fair_timeout


def test_a_bounded_map_forgets_what_was_set_longest_ago():
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


def test_a_bounded_map_forgets_what_is_too_old(monkeypatch):
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


async def test_what_need_not_wait_is_returned_though_its_time_is_over():
    async def ready():
        return 1

    assert await within(0, ready()) == 1


async def test_what_waits_goes_on_as_if_it_had_been_awaited():
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


async def test_what_waits_for_too_long_is_cancelled():
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


@pytest.fixture
async def clock(monkeypatch):
    """Return the time of the event loop, which stands still but for what a test adds to it."""
    now = [100.0]
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now[0])
    return now


async def test_an_alarm_waits_for_a_loop_that_stood_still(clock):
    rung = []
    Alarm(4, lambda: rung.append(clock[0]))
    for seconds in (7, 2.9, 0.15, 10):
        clock[0] += seconds
        await turns()
    assert rung == [pytest.approx(110.05)]


async def test_an_alarm_does_not_wait_for_ever_for_a_loop_that_stands_still_again_and_again(clock):
    rung = []
    Alarm(4, lambda: rung.append(clock[0]))
    for _ in range(9):
        clock[0] += 10
        await turns()
    assert rung == [120.0]


async def test_a_cancelled_alarm_is_silent(clock):
    alarm = Alarm(4, pytest.fail)
    clock[0] += 10
    await turns()
    alarm.cancel()
    clock[0] += 100
    await turns()


async def test_a_fair_timeout_ends_what_takes_too_long(clock):
    async def wait():
        async with fair_timeout(4):
            await asyncio.Event().wait()

    waiting = asyncio.ensure_future(wait())
    await turns()
    clock[0] += 4
    with pytest.raises(TimeoutError):
        await waiting


async def turns():
    """Let the loop run what is due, and what that begins."""
    for _ in range(5):
        await asyncio.sleep(0)
