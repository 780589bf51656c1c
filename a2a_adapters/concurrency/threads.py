"""Runs blocking code and long computations off the event loop.

Calls that outlive their task are counted and logged, because threads cannot be stopped.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import threading
import time
from collections import Counter, deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, TypeVarTuple
from weakref import WeakKeyDictionary, WeakSet

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")

logger = logging.getLogger(__name__)

_LOG_SECONDS = 60.0
"""Minimum time between two log lines about waiting calls."""

LARGE_BYTES = 8 * 1024
"""Size beyond which a conversion may block the event loop noticeably."""

_lock = threading.Lock()
_outliving = 0
"""Number of blocking calls that outlive their tasks."""


class TaskCalls:
    """The blocking calls of one task, in any thread.

    Attributes:
        request: The `AgentRequest` that is being answered.
        observed: The `ObservedRun` of its answer.
        agent: The agent whose threads it uses.
        reserved: The pool that keeps a thread for its next call, if any.
    """

    request: Any
    observed: Any
    reserved: object = None

    def __init__(self, task_id: str, agent: object = None) -> None:
        self._task_id = task_id
        self.agent = agent
        self._running = 0
        self._is_over = False
        self._waiting: list[asyncio.Future[None]] = []

    def watched(self, function: Callable[P, T]) -> Callable[P, T]:
        """Wrap a function so that its calls are counted, unless it is already wrapped."""
        if isinstance(function, _Watched):
            return function
        return _Watched(self, function)

    def use_reservation(self, pool: object) -> bool:
        """Use the thread that a pool keeps for it; return whether there is one."""
        is_there = self.reserved is pool
        if is_there:
            self.reserved = None
        return is_there

    def end(self) -> None:
        """Note that the task was stopped, and log the number of calls that continue."""
        global _outliving  # noqa: PLW0603 - a metric of the process
        with _lock:
            if self._is_over:
                return
            self._is_over = True
            left = self._running
            _outliving += left
        if left:
            logger.warning(
                "%d blocking call(s) of task %s continue although it was stopped, because threads "
                "cannot be stopped; their results are dropped",
                left,
                self._task_id,
            )

    def count(self, change: int) -> None:
        """Count started calls, or ended ones if negative."""
        global _outliving  # noqa: PLW0603
        with _lock:
            self._running += change
            if self._is_over:
                _outliving += change
            ended = [] if self._running else self._waiting
            if ended:
                self._waiting = []
        for each in ended:
            with suppress(RuntimeError):  # the loop is closed
                each.get_loop().call_soon_threadsafe(_wake, each)

    def left(self) -> asyncio.Future[None] | None:
        """Return a future that is done once no call runs; None if none does."""
        with _lock:
            if not self._running:
                return None
            ended = asyncio.get_running_loop().create_future()
            self._waiting.append(ended)
            return ended


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


class _Watched(Generic[P, T]):
    """A function whose running calls are counted."""

    def __init__(self, calls: TaskCalls, function: Callable[P, T]) -> None:
        self._calls = calls
        self._function = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        self._calls.count(1)
        try:
            return self._function(*args, **kwargs)
        finally:
            self._calls.count(-1)


CURRENT_CALLS: ContextVar[TaskCalls | None] = ContextVar("a2a_adapters_task_calls", default=None)
"""The calls of the current task, if any; a follow-up of the task has the same ones."""


def calls_of_task() -> Callable[[], asyncio.Future[None] | None]:
    """Return a function for the blocking calls of the current task.

    It returns a future that is done once none of them runs, or None if none does.
    """
    calls = CURRENT_CALLS.get()
    return calls.left if calls else lambda: None


def outliving_calls() -> int:
    """Return the number of blocking calls of this process that outlive their tasks."""
    return _outliving


class ThreadPool(ThreadPoolExecutor):
    """Threads for blocking calls; neither the pool's shutdown nor Python's exit waits for them.

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
        """Calls that begin now."""
        self._taken: Counter[object] = Counter()
        """Number of calls that run, or have a reserved thread, by their share."""
        self._waiting: dict[object, deque[_Queued | _Reservation]] = {}
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
        calls = CURRENT_CALLS.get()
        function = partial(calls.watched(fn) if calls else fn, *args, **kwargs)
        call = _Queued(Future(), function, self._share_of(calls))
        with self._guard:
            if self._is_over:
                raise RuntimeError("the thread pool was shut down")
            if (calls is not None and calls.use_reservation(self)) or self._take(call.share):
                self._begin(call)
            else:
                self._wait(call.share, call)
        return call.future

    def _share_of(self, _calls: TaskCalls | None) -> object:
        """Return the key of the calls that share a limit."""
        return None

    def _take(self, share: object) -> bool:
        is_free = self._taken[share] < self._limit
        self._taken[share] += is_free
        return is_free

    def _wait(self, share: object, waiting: _Queued | _Reservation) -> None:
        self._waiting.setdefault(share, deque()).append(waiting)

    def _begin(self, call: _Queued) -> None:
        self._calls.put(call)
        if self._unoccupied:
            self._unoccupied -= 1
            return
        self._started += 1
        threading.Thread(
            target=self._work, name=f"{self._name}_{self._started}", daemon=True
        ).start()

    def _work(self) -> None:
        thread = threading.current_thread()
        while (call := self._calls.get()) is not None:
            self.busy.add(thread)
            call.run()
            share = call.share
            del call  # do not keep the result alive
            self.busy.discard(thread)
            with self._guard:
                self._unoccupied += 1
                self._pass_on(share)

    def _pass_on(self, share: object) -> None:
        """Start the next call of a share after another one has ended."""
        waiting = self._waiting.get(share)
        while waiting:
            following = waiting.popleft()
            if isinstance(following, _Queued):
                self._begin(following)
                return
            if following.grant():
                return
        self._waiting.pop(share, None)
        self._taken[share] -= 1
        if not self._taken[share]:
            del self._taken[share]

    def allow(self, max_workers: int) -> None:
        """Raise the maximum number of concurrent calls to at least `max_workers`."""
        with self._guard:
            self._limit = max(self._limit, max_workers)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Refuse new calls and cancel the queued ones."""
        with self._guard:
            self._is_over = True
            left = [each for waiting in self._waiting.values() for each in waiting]
            self._waiting.clear()
            while not self._calls.empty():
                if (call := self._calls.get()) is not None:
                    left.append(call)
            for each in left:
                each.future.cancel()
            for _ in range(self._started):
                self._calls.put(None)


class AgentThreads(ThreadPool):
    """The threads of an event loop. Each agent has the same number of threads of its own."""

    _silent_until = 0.0

    def _share_of(self, calls: TaskCalls | None) -> object:
        return calls.agent if calls else None

    def _wait(self, share: object, waiting: _Queued | _Reservation) -> None:
        super()._wait(share, waiting)
        now = time.monotonic()
        if share is not None and now > self._silent_until:
            self._silent_until = now + _LOG_SECONDS
            logger.warning(
                "%d blocking calls of an agent run, the maximum: others wait for a thread "
                "(Limits.threads)",
                self._limit,
            )

    def is_full(self, calls: TaskCalls) -> bool:
        """Return whether the next call of a task has to wait."""
        return self._taken[calls.agent] >= self._limit

    async def reserve(self, calls: TaskCalls) -> None:
        """Wait for a thread, and keep it for the next call of a task, or until `give_back`."""
        share = calls.agent
        with self._guard:
            if self._take(share):
                calls.reserved = self
                return
            reservation = _Reservation(asyncio.get_running_loop())
            self._wait(share, reservation)
        try:
            await reservation.future
        except BaseException:
            with self._guard:
                if not reservation.withdraw():
                    self._pass_on(share)
            raise
        calls.reserved = self

    def give_back(self, calls: TaskCalls) -> None:
        """Let others have the thread of a task that did not use it."""
        with self._guard:
            if calls.use_reservation(self):
                self._pass_on(calls.agent)


class _Queued:
    """A queued call."""

    def __init__(self, future: Future[Any], function: Callable[[], Any], share: object) -> None:
        self.future = future
        self.share = share
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


class _Reservation:
    """A coroutine that waits for a thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.future: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._is_granted = self._is_withdrawn = False

    def grant(self) -> bool:
        """Give it a thread, from any thread; return whether it still wants one."""
        if self._is_withdrawn:
            return False
        try:
            self._loop.call_soon_threadsafe(_wake, self.future)
        except RuntimeError:  # the loop is closed
            return False
        self._is_granted = True
        return True

    def withdraw(self) -> bool:
        """Stop waiting; return whether that is in time."""
        self._is_withdrawn = True
        return not self._is_granted


_pools: WeakSet[ThreadPool] = WeakSet()
_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, AgentThreads] = WeakKeyDictionary()


def use_threads(limit: int) -> None:
    """Let the running event loop run at least `limit` blocking calls of each agent concurrently.

    The loop's default executor, in which frameworks run blocking code, has few threads. It is
    replaced by one pool for the loop's lifetime, because the previous executor cannot be read.
    """
    loop = asyncio.get_running_loop()
    pool = _of_loops[loop] = _of_loops.get(loop) or AgentThreads(limit)
    pool.allow(limit)
    loop.set_default_executor(pool)


def threads() -> AgentThreads | None:
    """Return the running event loop's threads, if `use_threads` has set them up."""
    return _of_loops.get(asyncio.get_running_loop())


def busy_threads() -> int:
    """Return the number of threads that are still busy after waiting 0.1 s for each."""
    busy = [thread for pool in _pools for thread in tuple(pool.busy)]
    for thread in busy:
        thread.join(timeout=0.1)
    return sum(thread.is_alive() for thread in busy)


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
    calls = CURRENT_CALLS.get() or TaskCalls(task_id)
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
