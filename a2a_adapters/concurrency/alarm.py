"""Alarms for what should have come by now, had the event loop had time to take it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

_PUNCTUAL_SECONDS = 0.1


class Alarm:
    """Calls a function after some seconds, and later by as much as it was itself held up.

    An event loop that stood still has not taken what came meanwhile: it gets the time for that,
    up to as many seconds in all.

    Args:
        seconds: After how long it calls.
        ring: What it calls.
    """

    def __init__(self, seconds: float, ring: Callable[[], object]) -> None:
        self._loop = asyncio.get_running_loop()
        self._ring = ring
        self._grace = seconds
        self._due = self._loop.time() + seconds
        self._timer = self._loop.call_at(self._due, self._look)

    def _look(self) -> None:
        now = self._loop.time()
        late = min(now - self._due, self._grace)
        if late <= _PUNCTUAL_SECONDS:
            self._ring()
            return
        self._grace -= late
        self._due = now + late
        self._timer = self._loop.call_at(self._due, self._look)

    def cancel(self) -> None:
        """Do not call."""
        self._timer.cancel()


@asynccontextmanager
async def fair_timeout(seconds: float) -> AsyncGenerator[None]:
    """Cancel what is awaited inside when an alarm of so many seconds goes off.

    Raises:
        TimeoutError: It went off.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as limit:
        alarm = Alarm(seconds, lambda: limit.reschedule(loop.time()))
        try:
            yield
        finally:
            alarm.cancel()
