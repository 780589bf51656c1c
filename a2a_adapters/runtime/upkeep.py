"""Background work of a runtime."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from a2a.utils.errors import A2AError

from a2a_adapters.concurrency import end_if_cancelled
from a2a_adapters.observability.failures import UnexpectedErrorsHidden

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

PRUNE_SECONDS = 300.0
"""Interval between deletions of old and surplus data."""


class Upkeep:
    """Works in the background until it is closed. Failures are logged, and retried next time."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def every(self, seconds: float, name: str, work: Callable[[], Awaitable[object]]) -> None:
        """Do some work now, and then `seconds` after each time; `name` is for the log."""
        self._tasks.append(asyncio.create_task(_keep(seconds, name, work)))

    def once(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        """Do some work now."""
        task = asyncio.create_task(_tried(name, work))
        self._tasks.append(task)
        task.add_done_callback(self._tasks.remove)

    def close(self) -> None:
        """Stop."""
        for task in self._tasks:
            task.cancel()


async def _keep(seconds: float, name: str, work: Callable[[], Awaitable[object]]) -> None:
    while True:
        await _tried(name, work)
        end_if_cancelled()
        await asyncio.sleep(seconds)


async def _tried(name: str, work: Callable[[], Awaitable[object]]) -> None:
    with suppress(A2AError), UnexpectedErrorsHidden(name):
        await work()
