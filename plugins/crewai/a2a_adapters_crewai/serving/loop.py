"""An event loop and threads that are not the server's.

crewai calls guardrails, planners and callbacks in the event loop, and flows wait for their
caller in threads. Neither may stop the server, or take the threads it needs.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias

from a2a_adapters import ThreadPool

if TYPE_CHECKING:
    from contextvars import Context

Main: TypeAlias = Callable[[], Coroutine[Any, Any, None]]

_THREAD = "a2a-adapters-crewai"
_WORKING_THREADS = 256
"""How many threads there may be beside those that wait for callers. Each is made when needed."""


class SharedLoop:
    """A loop in a thread, for all runs of an adapter.

    A loop for each run would break asynchronous clients, which belong to that of their first
    use, and be slow: threads that all want to run keep waiting for one another.

    Args:
        max_asking: How many threads may wait for callers.

    Attributes:
        waiting: Taken by each thread that waits for a caller, so that some are left to work.
    """

    def __init__(self, max_asking: int) -> None:
        self.waiting = threading.BoundedSemaphore(max_asking)
        self._max_threads = max_asking + _WORKING_THREADS
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = asyncio.Event()

    def run(self, main: Main, context: Context) -> None:
        """Run a coroutine in the loop, which is started for the first one."""
        if self._loop is None:
            self._stopped = asyncio.Event()
            self._loop = asyncio.new_event_loop()
            self._loop.set_default_executor(ThreadPool(self._max_threads, _THREAD))
            threading.Thread(
                target=self._serve, args=(self._loop,), name=_THREAD, daemon=True
            ).start()
        self._loop.call_soon_threadsafe(_begin, self._loop, main, context)

    def stop(self) -> None:
        """Cancel what still runs, and end the loop."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._loop = None

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        await self._stopped.wait()


def _begin(loop: asyncio.AbstractEventLoop, main: Main, context: Context) -> None:
    loop.create_task(main(), context=context)
