"""Timeouts that do not count time during which the event loop was blocked."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

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
