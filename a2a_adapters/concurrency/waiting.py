"""A timeout for awaitables that are usually ready."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator

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
