"""Blocking code and long computations off the event loop."""

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

__all__ = ["ThreadPool", "run_in_thread"]

P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")

LARGE_BYTES = 8 * 1024
"""What is larger may take longer to convert than others should wait."""


class ThreadPool(ThreadPoolExecutor):
    """Threads for blocking calls. Neither its shutdown nor Python's end waits for one.

    Event loops take no other executors than `ThreadPoolExecutor`, which therefore is the base; the
    threads are this class's own.

    Args:
        max_workers: How many calls run at once.
        name: What the threads are called.
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
        """The threads that are at work."""
        _pools.add(self)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a call as soon as a thread is free; the task that it is made for knows of it.

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
            del call  # what it returned is somebody else's
            self.busy.discard(thread)
            with self._guard:
                self._unoccupied += 1

    def allow(self, max_workers: int) -> None:
        """Run so many calls at once from now on, unless it may run more already."""
        with self._guard:
            self._limit = max(self._limit, max_workers)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Take no more calls, and forget those that have not begun."""
        with self._guard:
            self._is_over = True
            while not self._calls.empty():
                if (call := self._calls.get()) is not None:
                    call.future.cancel()
            for _ in range(self._started):
                self._calls.put(None)


class _Queued:
    """A call that waits for a thread."""

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
    """Have the running event loop make at least so many blocking calls at once.

    Its own pool, which frameworks run blocking code in, has a few threads only. It has one of ours
    from now on, however often this is called, which ends with it: an event loop tells nobody which
    pool it had before, so that it could not be given back.
    """
    loop = asyncio.get_running_loop()
    pool = _of_loops[loop] = _of_loops.get(loop) or ThreadPool(limit)
    pool.allow(limit)
    loop.set_default_executor(pool)


def busy_threads() -> int:
    """Return how many calls go on in threads; those of pools that were shut down get 0.1 s."""
    threads = [thread for pool in _pools for thread in tuple(pool.busy)]
    for thread in threads:
        thread.join(timeout=0.1)
    return sum(thread.is_alive() for thread in threads)


def _safe(function: Callable[[], T]) -> T:
    """Call a function and raise nothing that asyncio chokes on."""
    try:
        return function()
    except StopIteration as error:  # a future cannot hold one
        raise RuntimeError("a blocking call raised StopIteration") from error
    except Exception:
        raise
    except BaseException as error:  # sys.exit() in an agent must not end the server
        raise RuntimeError(f"a blocking call raised {type(error).__name__}") from error


async def run_in_thread(function: Callable[[], T], task_id: str) -> T:
    """Run blocking code in the event loop's thread pool and return its result.

    A thread cannot be stopped from outside. When the task `task_id` is cancelled, this ends
    at once: a call that had to wait for a thread is not made, and of one that runs the result
    is dropped and the log says that it goes on. Code that should end sooner looks at
    `AgentRequest.cancelled`.
    """
    calls = CURRENT.get() or TaskCalls(task_id)
    call = partial(contextvars.copy_context().run, _safe, function)
    try:
        return await asyncio.get_running_loop().run_in_executor(None, calls.watched(call))
    except asyncio.CancelledError:
        calls.end()
        raise


class _Computing:
    """The thread for computations: one, so that the event loop gets its share of the time.

    It is not one of those that blocking agents use: they may all be busy for long. A forked
    process has none of the threads.
    """

    def __init__(self) -> None:
        self.renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        self.pool = ThreadPool(1, "a2a-adapters-computing")


_computing = _Computing()


async def computed(function: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Return `function(*arguments)`, called beside the event loop.

    What works on `LARGE_BYTES` at most is called as it is: that takes less time than the way here.

    Args:
        function: What is called. The loop must not change what it reads meanwhile.
        arguments: What it is called with.
    """
    return await asyncio.get_running_loop().run_in_executor(_computing.pool, function, *arguments)


async def computed_if_large(size: int, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Return `function(*arguments)`, called beside the event loop if it works on over 64 KiB.

    Args:
        size: On how many bytes it works.
        function: What is called.
        arguments: What it is called with.
    """
    if size <= 8 * LARGE_BYTES:
        return function(*arguments)
    return await computed(function, *arguments)
