"""Clocks that share a timer: each stops its own run, in the run's context."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

import pytest

from a2a_adapters.contract.limits import Limits
from a2a_adapters.executor.turns import RunClock, RunClocks, TimeLimitError

conversation = ContextVar("conversation", default="nobody's")


async def run(clocks: RunClocks, name: str, seen: list[tuple[str, str]]) -> None:
    """Run until the clock stops it; record the context in which that happens."""
    conversation.set(name)
    async with RunClock(clocks, lambda reason: seen.append((conversation.get(), reason))):
        await asyncio.Event().wait()


async def test_each_clock_stops_its_own_run():
    clocks, seen = RunClocks(Limits(idle_seconds=0.3)), []
    async with RunClock(clocks, seen.append):  # the timer is set by a run that ends at once
        pass
    errors = await asyncio.gather(
        run(clocks, "quiet", seen), run(clocks, "quiet too", seen), return_exceptions=True
    )
    assert [type(error) for error in errors] == [TimeLimitError] * 2
    idle = "The agent was stopped: nothing came from it for 0.3 s."
    assert sorted(seen) == [("quiet", idle), ("quiet too", idle)]


async def test_a_run_that_begins_after_the_timer_looked_is_stopped_too():
    clocks, seen = RunClocks(Limits(idle_seconds=0.05)), []
    for name in ("first", "second"):
        with pytest.raises(TimeLimitError):
            await run(clocks, name, seen)
    assert [who for who, _ in seen] == ["first", "second"]


def test_clocks_work_in_a_second_loop():
    clocks, seen = RunClocks(Limits(idle_seconds=0.05)), []

    async def shortly() -> None:
        async with RunClock(clocks, lambda reason: None):
            pass

    asyncio.run(shortly())
    with pytest.raises(TimeLimitError):
        asyncio.run(run(clocks, "later", seen))
