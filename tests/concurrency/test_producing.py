"""Items of a producer in a task of its own."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from a2a_adapters.concurrency import produced


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


async def test_errors_follow_the_items():
    async def produce(put):
        await put("one")
        raise ValueError("no more")

    items = produced(produce)
    assert await anext(items) == "one"
    with pytest.raises(ValueError, match="no more"):
        await anext(items)
