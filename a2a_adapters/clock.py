"""The time limits of one run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from a2a_adapters.limits import Limits


class TimeLimitError(Exception):
    """A run was stopped by its clock. The text is for the caller."""


class RunClock:
    """A context that stops what takes too long, or in which nothing happens for too long.

    One timer looks now and then when something happened last: to note that costs next to
    nothing, unlike a timeout around each event.

    Raises:
        TimeLimitError: On leaving, if the clock stopped what was inside.
    """

    __slots__ = ("_deadline", "_last", "_limits", "_loop", "_reason", "_timeout", "_timer")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._timeout = asyncio.timeout(None)
        self._reason = ""

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self.tick()
        self._deadline = self._last + self._limits.run_seconds
        self._look_later()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        try:
            await self._timeout.__aexit__(kind, error, traceback)
        except TimeoutError as stopped:
            raise TimeLimitError(self._reason) from stopped

    def tick(self) -> None:
        """Note that something happened."""
        self._last = self._loop.time()

    def _look_later(self) -> None:
        idle_at = self._last + self._limits.idle_seconds
        self._timer = self._loop.call_at(min(idle_at, self._deadline), self._look)

    def _look(self) -> None:
        now = self._loop.time()
        run, idle = self._limits.run_seconds, self._limits.idle_seconds
        if now >= self._deadline:
            self._reason = f"The agent was stopped after {run:g} s."
        elif now >= self._last + idle:
            self._reason = f"The agent was stopped: nothing came from it for {idle:g} s."
        else:
            self._look_later()
            return
        self._timeout.reschedule(now)
