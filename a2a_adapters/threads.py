"""Blocking code off the event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

__all__ = ["run_in_thread"]

T = TypeVar("T")

logger = logging.getLogger(__name__)


async def run_in_thread(function: Callable[[], T], task_id: str) -> T:
    """Run blocking code in the event loop's thread pool and return its result.

    A thread cannot be stopped from outside. When the task `task_id` is cancelled, this ends
    at once, the thread's result is dropped, and the log says that it is still running; code
    that should end sooner looks at `AgentRequest.cancelled`.
    """
    work = asyncio.ensure_future(asyncio.to_thread(function))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        if not work.done():
            logger.warning("a thread of task %s goes on after the task was cancelled", task_id)
            work.add_done_callback(_drop)
        raise


def _drop(work: asyncio.Task[T]) -> None:
    if not work.cancelled() and (error := work.exception()) is not None:
        logger.debug("a dropped thread failed", exc_info=error)
