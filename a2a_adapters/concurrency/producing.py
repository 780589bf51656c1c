"""Yields what a coroutine produces in a task of its own, and values until something ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from a2a_adapters.concurrency.background import let_fail

T = TypeVar("T")

_ITEMS = 16
"""The most items that wait for the reader."""


async def produced(
    produce: Callable[[Callable[[T], Awaitable[None]]], Coroutine[Any, Any, None]],
) -> AsyncGenerator[T]:
    """Yield the items of a producer, which runs in a task of its own and waits for slow readers.

    Closing the generator cancels the task: use it for frameworks whose own generators must not be
    closed.

    Args:
        produce: The producer. It awaits its argument for each item.
    """
    queue: asyncio.Queue[tuple[T] | None] = asyncio.Queue()
    room = asyncio.Semaphore(_ITEMS)

    async def put(item: T) -> None:
        await room.acquire()
        queue.put_nowait((item,))

    task = asyncio.create_task(produce(put))
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (item := await queue.get()) is not None:
            room.release()
            yield item[0]
        await task
    finally:
        task.add_done_callback(let_fail)  # a failure was raised already
        task.cancel()
        await asyncio.wait({task})  # `await task` could not tell our cancel from the reader's


async def until(ended: asyncio.Future[Any], values: AsyncGenerator[T]) -> AsyncGenerator[T]:
    """Yield values until there are no more, or `ended` is done; then close their generator."""
    end: Any = object()

    async def following() -> Any:
        return await anext(values, end)

    try:
        while not ended.done():
            value = asyncio.ensure_future(following())
            try:
                await asyncio.wait({value, ended}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not value.done():
                    value.cancel()
                    await asyncio.wait({value})
            if value.cancelled() or (item := value.result()) is end:
                return
            yield item
    finally:
        await values.aclose()
