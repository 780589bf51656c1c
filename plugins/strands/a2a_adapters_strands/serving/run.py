"""Reads the events of a run in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import suppress
from typing import TypeVar

_Event = TypeVar("_Event")


async def events_of(run: AsyncIterable[_Event]) -> AsyncGenerator[_Event]:
    """Yield the events of a run; cancel its task if the generator is closed.

    The framework's generators must not be closed: they end an OpenTelemetry span in the wrong
    context then, which logs a traceback.
    """
    queue: asyncio.Queue[_Event | None] = asyncio.Queue(maxsize=16)

    async def read() -> None:
        async for event in run:
            await queue.put(event)
        await queue.put(None)

    task = asyncio.create_task(read())
    try:
        while (event := await _next(queue, task)) is not None:
            yield event
        await task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):  # a failure was raised already
            await task


async def _next(queue: asyncio.Queue[_Event | None], task: asyncio.Task[None]) -> _Event | None:
    """Return the next event; None once the run has ended or failed."""
    if queue.empty() and not task.done():
        waiting = asyncio.ensure_future(queue.get())
        try:
            await asyncio.wait({waiting, task}, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                return waiting.result()
        finally:
            waiting.cancel()
    return None if queue.empty() else queue.get_nowait()
