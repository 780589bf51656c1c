"""Background tasks: holding, shielding and ending them, their items and their open resources."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import suppress
from threading import Lock
from typing import Any, TypeVar

from a2a_adapters.concurrency.bounded import BoundedMap

T = TypeVar("T")


class Background:
    """Holds tasks until they are done, because event loops only keep weak references."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def begin(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Start a task."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def cancel(self) -> None:
        """Cancel all tasks."""
        for task in self._running:
            task.cancel()

    async def wait(self, seconds: float | None = None) -> int:
        """Wait for all tasks, at most `seconds`, and return the number of unfinished ones."""
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)
        return len(self._running)


async def shielded(work: Awaitable[T]) -> T:
    """Wait for work that continues silently if the caller is cancelled."""
    going_on = asyncio.ensure_future(work)
    going_on.add_done_callback(let_fail)
    return await asyncio.shield(going_on)


async def finished(work: Awaitable[T]) -> T:
    """Wait for work that cannot be stopped; a cancellation takes effect once it is done."""
    going_on = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(going_on)
    finally:
        while not going_on.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([going_on])
        let_fail(going_on)


def let_fail(done: asyncio.Future[T]) -> None:
    """Keep asyncio from logging an unretrieved error; a done callback."""
    if not done.cancelled():
        done.exception()


def end_if_cancelled() -> None:
    """Raise `asyncio.CancelledError` if the running task was cancelled, but the error was lost.

    Drivers replace it by an error of their own, and `asyncio.wait_for` before Python 3.12 drops it
    if the awaited result arrives at the same time.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


in_background = Background().begin
"""Start a task that is held until it is done."""


def runs_now(task: asyncio.Task[object] | None) -> bool:
    """Return whether `task` is the running task; a coroutine may also be closed by another one."""
    try:
        return task is not None and asyncio.current_task() is task
    except RuntimeError:  # no event loop is running
        return False


_ITEMS = 16
"""The most items that wait for the reader."""


async def produced(
    produce: Callable[[Callable[[T], Awaitable[None]]], Coroutine[Any, Any, None]],
) -> AsyncGenerator[T]:
    """Yield the items of a producer, which runs in a task of its own and waits for slow readers.

    Closing the generator cancels the task: use it for frameworks whose own generators must not be
    closed.

    Args:
        produce: The producer. It awaits its argument for each item.
    """
    queue: asyncio.Queue[tuple[T] | None] = asyncio.Queue()
    room = asyncio.Semaphore(_ITEMS)

    async def put(item: T) -> None:
        await room.acquire()
        queue.put_nowait((item,))

    task = asyncio.create_task(produce(put))
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (item := await queue.get()) is not None:
            room.release()
            yield item[0]
        await task
    finally:
        task.add_done_callback(let_fail)  # a failure was raised already
        task.cancel()
        await asyncio.wait({task})  # `await task` could not tell our cancel from the reader's


async def until(ended: asyncio.Future[Any], values: AsyncGenerator[T]) -> AsyncGenerator[T]:
    """Yield values until there are no more, or `ended` is done; then close their generator."""
    end: Any = object()

    async def following() -> Any:
        return await anext(values, end)

    try:
        while not ended.done():
            value = asyncio.ensure_future(following())
            try:
                await asyncio.wait({value, ended}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not value.done():
                    value.cancel()
                    await asyncio.wait({value})
            if value.cancelled() or (item := value.result()) is end:
                return
            yield item
    finally:
        await values.aclose()


_TASKS = 10_000

_lock = Lock()
_open: BoundedMap[str, dict[str, Callable[[], Coroutine[Any, Any, object]]]] = BoundedMap(_TASKS)


def leave_open(
    task_id: str, name: str, clean_up: Callable[[], Coroutine[Any, Any, object]]
) -> None:
    """Register a resource that a task leaves open; it is closed if the waiting task is cancelled.

    Args:
        task_id: The task of this process.
        name: Identifies the resource.
        clean_up: Closes it; called in any event loop if the task is cancelled.
    """
    with _lock:
        _open[task_id] = {**(_open.get(task_id) or {}), name: clean_up}


def note_closed(task_id: str, name: str) -> None:
    """Record that a resource that a task had left open is closed."""
    with _lock:
        if (left := _open.get(task_id)) and left.pop(name, None) and not left:
            _open.pop(task_id)


def abandon(task_id: str) -> None:
    """Close the resources that a task has left open, in the background."""
    with _lock:
        left = _open.pop(task_id) or {}
    for clean_up in left.values():
        in_background(clean_up())
