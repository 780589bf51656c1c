"""Work that nobody waits for."""

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
