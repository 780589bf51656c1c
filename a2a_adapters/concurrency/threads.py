"""Runs blocking code and long computations off the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, TypeVarTuple
from weakref import WeakKeyDictionary, WeakSet

from a2a_adapters.concurrency.outliving import CURRENT, TaskCalls

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")

LARGE_BYTES = 8 * 1024
"""Size beyond which a conversion may block the event loop noticeably."""


class ThreadPool(ThreadPoolExecutor):
    """Threads for blocking calls, for which neither its shutdown nor Python's exit waits.

    It has its own threads and derives from `ThreadPoolExecutor` only because event loops accept no
    other executors.

    Args:
        max_workers: Maximum number of concurrent calls.
        name: Prefix of the threads' names.

    Attributes:
        busy: The threads that are running calls.
    """

    def __init__(self, max_workers: int, name: str = "a2a-adapters") -> None:
        super().__init__(max_workers)
        self._limit = max_workers
        self._name = name
        self._calls: SimpleQueue[_Queued | None] = SimpleQueue()
        self._guard = threading.Lock()
        self._is_over = False
        self._unoccupied = self._started = 0
        self.busy: set[threading.Thread] = set()
        _pools.add(self)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a call, and count it for the current task.

        Raises:
            RuntimeError: The pool was shut down.
        """
        calls = CURRENT.get()
        call = _Queued(Future(), partial(calls.watched(fn) if calls else fn, *args, **kwargs))
        with self._guard:
            if self._is_over:
                raise RuntimeError("the thread pool was shut down")
            self._calls.put(call)
            if self._unoccupied:
                self._unoccupied -= 1
            elif self._started < self._limit:
                self._started += 1
                threading.Thread(
                    target=self._work, name=f"{self._name}_{self._started}", daemon=True
                ).start()
        return call.future

    def _work(self) -> None:
        thread = threading.current_thread()
        while (call := self._calls.get()) is not None:
            self.busy.add(thread)
            call.run()
            del call  # do not keep the result alive
            self.busy.discard(thread)
            with self._guard:
                self._unoccupied += 1

    def allow(self, max_workers: int) -> None:
        """Raise the maximum number of concurrent calls to at least `max_workers`."""
        with self._guard:
            self._limit = max(self._limit, max_workers)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Refuse new calls and cancel the queued ones."""
        with self._guard:
            self._is_over = True
            while not self._calls.empty():
                if (call := self._calls.get()) is not None:
                    call.future.cancel()
            for _ in range(self._started):
                self._calls.put(None)


class _Queued:
    """A queued call."""

    def __init__(self, future: Future[Any], function: Callable[[], Any]) -> None:
        self.future = future
        self._function = function

    def run(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self._function()
        except BaseException as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


_pools: WeakSet[ThreadPool] = WeakSet()
_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, ThreadPool] = WeakKeyDictionary()


def use_threads(limit: int) -> None:
    """Let the running event loop run at least `limit` blocking calls concurrently.

    The loop's default executor, in which frameworks run blocking code, has few threads. It is
    replaced by one pool for the loop's lifetime, because the previous executor cannot be read.
    """
    loop = asyncio.get_running_loop()
    pool = _of_loops[loop] = _of_loops.get(loop) or ThreadPool(limit)
    pool.allow(limit)
    loop.set_default_executor(pool)


def busy_threads() -> int:
    """Return the number of threads that are still busy after waiting 0.1 s for each."""
    threads = [thread for pool in _pools for thread in tuple(pool.busy)]
    for thread in threads:
        thread.join(timeout=0.1)
    return sum(thread.is_alive() for thread in threads)


def _safe(function: Callable[[], T]) -> T:
    """Call a function, and replace exceptions that asyncio cannot handle."""
    try:
        return function()
    except StopIteration as error:  # not allowed in a future
        raise RuntimeError("a blocking call raised StopIteration") from error
    except Exception:
        raise
    except BaseException as error:  # sys.exit() in an agent must not end the server
        raise RuntimeError(f"a blocking call raised {type(error).__name__}") from error


async def run_in_thread(function: Callable[[], T], task_id: str) -> T:
    """Run blocking code in the event loop's thread pool and return its result.

    When the task `task_id` is cancelled, this returns immediately: a queued call is dropped; a
    running one continues, because a thread cannot be stopped, but its result is dropped and a
    warning is logged. Code that should end earlier checks `AgentRequest.cancelled`.
    """
    calls = CURRENT.get() or TaskCalls(task_id)
    call = partial(contextvars.copy_context().run, _safe, function)
    try:
        return await asyncio.get_running_loop().run_in_executor(None, calls.watched(call))
    except asyncio.CancelledError:
        calls.end()
        raise


class _Computing:
    """The thread for computations: only one, so that it does not starve the event loop.

    It is separate from the threads of blocking agents, which may all be busy. A forked process
    gets a new one.
    """

    def __init__(self) -> None:
        self.renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        self.pool = ThreadPool(1, "a2a-adapters-computing")


_computing = _Computing()


async def computed(function: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Return `function(*arguments)`, called off the event loop.

    It is worth the overhead for data beyond `LARGE_BYTES`, which must not change in the meantime.
    """
    return await asyncio.get_running_loop().run_in_executor(_computing.pool, function, *arguments)


async def computed_if_large(size: int, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Return `function(*arguments)`, called off the event loop if `size` exceeds 64 KiB."""
    if size <= 8 * LARGE_BYTES:
        return function(*arguments)
    return await computed(function, *arguments)
