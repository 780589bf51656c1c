"""Background tasks and helpers for cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Holds tasks until they are done, because event loops only keep weak references."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def begin(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Start a task."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def cancel(self) -> None:
        """Cancel all tasks."""
        for task in self._running:
            task.cancel()

    async def wait(self, seconds: float | None = None) -> int:
        """Wait for all tasks, at most `seconds`, and return the number of unfinished ones."""
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)
        return len(self._running)


async def shielded(work: Awaitable[T]) -> T:
    """Wait for work that continues silently if the caller is cancelled."""
    going_on = asyncio.ensure_future(work)
    going_on.add_done_callback(let_fail)
    return await asyncio.shield(going_on)


async def finished(work: Awaitable[T]) -> T:
    """Wait for work that cannot be stopped; a cancellation takes effect once it is done."""
    going_on = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(going_on)
    finally:
        while not going_on.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([going_on])
        let_fail(going_on)


def let_fail(done: asyncio.Future[T]) -> None:
    """Keep asyncio from logging an unretrieved error; a done callback."""
    if not done.cancelled():
        done.exception()


def end_if_cancelled() -> None:
    """Raise `asyncio.CancelledError` if the running task was cancelled, but the error was lost.

    Drivers replace it by an error of their own, and `asyncio.wait_for` before Python 3.12 drops it
    if the awaited result arrives at the same time.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


in_background = Background().begin
"""Start a task that is held until it is done."""


def runs_now(task: asyncio.Task[object] | None) -> bool:
    """Return whether `task` is the running task; a coroutine may also be closed by another one."""
    try:
        return task is not None and asyncio.current_task() is task
    except RuntimeError:  # no event loop is running
        return False
