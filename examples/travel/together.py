"""Reads several streams concurrently."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

Event = TypeVar("Event")


async def together(streams: Mapping[str, AsyncIterator[Event]]) -> AsyncIterator[tuple[str, Event]]:
    """Yield the events of several streams with their names; closing this closes all of them."""
    news: asyncio.Queue[tuple[str, Event] | None] = asyncio.Queue()

    async def follow(name: str, stream: AsyncIterator[Event]) -> None:
        async for event in stream:
            news.put_nowait((name, event))

    reading = [asyncio.create_task(follow(*each)) for each in streams.items()]
    all_read = asyncio.gather(*reading)
    all_read.add_done_callback(lambda _: news.put_nowait(None))
    try:
        while each := await news.get():
            yield each
        await all_read  # raises the error of any of them
    finally:
        for task in reading:
            task.cancel()
        await asyncio.wait(reading)
