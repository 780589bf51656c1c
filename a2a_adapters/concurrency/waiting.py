"""Waiting in the event loop: a timeout, and locks for one event loop after another."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

T = TypeVar("T")


async def within(deadline: float, awaitable: Awaitable[T]) -> T:
    """Await until a deadline, with a timer only if the result is not ready.

    The next token of a stream often is, and a timer takes longer than reading it.

    Args:
        deadline: The deadline in the time of the running event loop, or infinity.
        awaitable: The awaitable, which is cancelled at the deadline.

    Raises:
        TimeoutError: The deadline has passed.
    """
    begun = _Begun(awaitable)
    if begun.is_done:
        return begun.result
    async with asyncio.timeout_at(deadline if deadline < math.inf else None):
        return await begun


class PerLoop(Generic[T]):
    """Provides a lock, semaphore or event for the running event loop.

    Those of asyncio belong to the first event loop in which a task waited for them, but an adapter
    may be served again in another one.

    Args:
        make: Creates the object, once per event loop.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._loop: asyncio.AbstractEventLoop | None = None

    def __call__(self) -> T:
        """Return the object of the running event loop."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._made = loop, self._make()
        return self._made


class _Begun(Generic[T]):
    """An awaitable that has been run until it is done or has to wait; await this to continue it."""

    result: T

    def __init__(self, awaitable: Awaitable[T]) -> None:
        self._steps = awaitable.__await__()
        self.is_done = False
        try:
            self._waits_for = next(self._steps)
        except StopIteration as end:
            self.is_done = True
            self.result = end.value

    def __await__(self) -> Generator[object, None, T]:
        try:
            while True:
                try:
                    yield self._waits_for
                except BaseException as error:
                    self._waits_for = self._steps.throw(error)
                else:
                    self._waits_for = next(self._steps)
        except StopIteration as end:
            result: T = end.value
            return result
