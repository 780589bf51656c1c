"""Tasks of an event loop: of work that nobody waits for, and which of them runs."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

_running: set[asyncio.Task[None]] = set()


def in_background(work: Coroutine[object, object, None]) -> asyncio.Task[None]:
    """Begin `work` and hold on to it until it is done: event loops keep weak references only."""
    task = asyncio.ensure_future(work)
    _running.add(task)
    task.add_done_callback(_running.discard)
    return task


def runs_now(task: asyncio.Task[object] | None) -> bool:
    """Tell whether it is this task that runs: a coroutine is closed by somebody else."""
    try:
        return task is not None and asyncio.current_task() is task
    except RuntimeError:  # the loop is gone
        return False
