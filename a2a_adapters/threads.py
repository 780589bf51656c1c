"""Blocking code off the event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["run_in_thread"]

T = TypeVar("T")

logger = logging.getLogger(__name__)


_THREAD_NAME = "a2a-adapters"


class ThreadPool(ThreadPoolExecutor):
    """A thread pool whose shutdown does not wait for calls that nobody can stop."""

    def __init__(self, max_workers: int) -> None:
        super().__init__(max_workers, thread_name_prefix=_THREAD_NAME)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Take no more calls."""
        super().shutdown(wait=False, cancel_futures=True)


def busy_threads() -> int:
    """Return how many threads of pools that were shut down are still at work."""
    threads = [t for t in threading.enumerate() if t.name.startswith(_THREAD_NAME)]
    for thread in threads:
        thread.join(timeout=0.1)
    return sum(thread.is_alive() for thread in threads)


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
