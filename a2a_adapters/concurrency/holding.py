"""What is held until the end, or until somebody else gives it back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self


class Hold:
    """Holds a lock, or one of so many places, inside a block; gives it back once.

    Args:
        held: What is acquired.
    """

    __slots__ = ("_held", "_is_held")

    def __init__(self, held: asyncio.Lock | asyncio.Semaphore) -> None:
        self._held = held
        self._is_held = False

    async def __aenter__(self) -> Self:
        await self._held.acquire()
        self._is_held = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Give it back now, although the block goes on."""
        if self._is_held:
            self._is_held = False
            self._held.release()


def runs_now(task: asyncio.Task[object] | None) -> bool:
    """Tell whether it is this task that runs: a coroutine is closed by somebody else."""
    try:
        return task is not None and asyncio.current_task() is task
    except RuntimeError:  # the loop is gone
        return False
