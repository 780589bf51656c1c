"""Tasks of an event loop: of work that nobody waits for, and which of them runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Work that is held until it is done: event loops keep weak references only."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def begin(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Begin something."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def cancel(self) -> None:
        """Cancel what is not done."""
        for task in self._running:
            task.cancel()

    async def wait(self, seconds: float | None = None) -> int:
        """Wait for what was begun, at most so long; return how much of it goes on."""
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)
        return len(self._running)


async def shielded(work: Awaitable[T]) -> T:
    """Wait for work that goes on if its caller is cancelled, who then hears no more of it."""
    going_on = asyncio.ensure_future(work)
    going_on.add_done_callback(let_fail)
    return await asyncio.shield(going_on)


def let_fail(done: asyncio.Future[T]) -> None:
    """Let asyncio not complain of an error that nobody was there to hear: a done callback."""
    if not done.cancelled():
        done.exception()


def end_if_cancelled() -> None:
    """End the running task if it was cancelled, and what it has awaited kept that to itself.

    Drivers do so that fail with an error of their own instead, and so does `asyncio.wait_for`
    before Python 3.12, if what it waits for comes at that moment.

    Raises:
        asyncio.CancelledError: It was.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


in_background = Background().begin
"""Begin something that is held for as long as the process lives."""


def runs_now(task: asyncio.Task[object] | None) -> bool:
    """Tell whether it is this task that runs: a coroutine is closed by somebody else."""
    try:
        return task is not None and asyncio.current_task() is task
    except RuntimeError:  # the loop is gone
        return False
