"""Blocking code off the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Generic, TypeVar

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


class _Call(Generic[T]):
    """A blocking call that knows whether it is running, and raises nothing asyncio chokes on."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self.is_running = False

    def __call__(self) -> T:
        self.is_running = True
        try:
            return self._function()
        except StopIteration as error:  # a future cannot hold one
            raise RuntimeError("a blocking call raised StopIteration") from error
        except Exception:
            raise
        except BaseException as error:  # sys.exit() in an agent must not end the server
            raise RuntimeError(f"a blocking call raised {type(error).__name__}") from error
        finally:
            self.is_running = False


async def run_in_thread(function: Callable[[], T], task_id: str) -> T:
    """Run blocking code in the event loop's thread pool and return its result.

    A thread cannot be stopped from outside. When the task `task_id` is cancelled, this ends
    at once: a call that had to wait for a thread is not made, and of one that runs the result
    is dropped and the log says that it goes on. Code that should end sooner looks at
    `AgentRequest.cancelled`.
    """
    call = _Call(function)
    loop = asyncio.get_running_loop()
    try:
        return await loop.run_in_executor(None, contextvars.copy_context().run, call)
    except asyncio.CancelledError:
        if call.is_running:
            logger.warning("a thread of task %s goes on after the task was cancelled", task_id)
        raise
