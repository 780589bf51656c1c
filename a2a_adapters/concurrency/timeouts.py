"""Timeouts that are fair to a blocked event loop, and cheap if there is no need to wait."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator

T = TypeVar("T")

_PUNCTUAL_SECONDS = 0.1


class Alarm:
    """Calls a function after some seconds, later if the event loop was blocked in the meantime.

    A blocked loop has not processed what arrived, so it gets additional time, at most `seconds`.
    """

    def __init__(self, seconds: float, ring: Callable[[], object]) -> None:
        self._loop = asyncio.get_running_loop()
        self._ring = ring
        self._grace = seconds
        self._due = self._loop.time() + seconds
        self._timer = self._loop.call_at(self._due, self._check)

    def _check(self) -> None:
        now = self._loop.time()
        late = min(now - self._due, self._grace)
        if late <= _PUNCTUAL_SECONDS:
            self._ring()
            return
        self._grace -= late
        self._due = now + late
        self._timer = self._loop.call_at(self._due, self._check)

    def cancel(self) -> None:
        """Cancel the call."""
        self._timer.cancel()


@asynccontextmanager
async def fair_timeout(seconds: float) -> AsyncGenerator[None]:
    """Limit the time of a block by an `Alarm`; raises `TimeoutError`."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as limit:
        alarm = Alarm(seconds, lambda: limit.reschedule(loop.time()))
        try:
            yield
        finally:
            alarm.cancel()


async def within(deadline: float, awaitable: Awaitable[T]) -> T:
    """Await until a deadline, with a timer only if the result is not ready.

    The next token of a stream often is, and a timer takes longer than reading it.

    Args:
        deadline: The deadline in the time of the running event loop.
        awaitable: The awaitable, which is cancelled at the deadline.

    Raises:
        TimeoutError: The deadline has passed.
    """
    begun = _Begun(awaitable)
    if begun.is_done:
        return begun.result
    async with asyncio.timeout_at(deadline):
        return await begun


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
