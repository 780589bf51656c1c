"""Time limits for what mostly need not wait."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator

T = TypeVar("T")


async def within(deadline: float, awaitable: Awaitable[T]) -> T:
    """Return what an awaitable returns, with a timer only if it has to wait.

    The next token of a stream has often come already, and a timer takes longer than reading it.

    Args:
        deadline: Until when it may wait, in the time of the running event loop.
        awaitable: What is awaited.

    Raises:
        TimeoutError: It waits for too long; it is cancelled.
    """
    begun = _Begun(awaitable)
    if begun.is_done:
        return begun.result
    async with asyncio.timeout_at(deadline):
        return await begun


class _Begun(Generic[T]):
    """An awaitable that has run until it is done or waits; awaiting this goes on with it."""

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
