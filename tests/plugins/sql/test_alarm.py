"""Timeouts that do not count time during which the event loop was blocked."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_sql.alarm import Alarm, fair_timeout


@pytest.fixture
async def clock(monkeypatch):
    """Return the time of the event loop, which the test advances."""
    now = [100.0]
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now[0])
    return now


async def test_an_alarm_gives_a_blocked_loop_additional_time(clock):
    rung = []
    Alarm(4, lambda: rung.append(clock[0]))
    for seconds in (7, 2.9, 0.15, 10):
        clock[0] += seconds
        await turns()
    assert rung == [pytest.approx(110.05)]


async def test_the_additional_time_of_an_alarm_is_limited(clock):
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


async def test_a_fair_timeout_cancels_its_block(clock):
    async def wait():
        async with fair_timeout(4):
            await asyncio.Event().wait()

    waiting = asyncio.ensure_future(wait())
    await turns()
    clock[0] += 4
    with pytest.raises(TimeoutError):
        await waiting


async def turns():
    """Let the loop run the callbacks that are due, and those that they schedule."""
    for _ in range(5):
        await asyncio.sleep(0)
