"""The time limits of one run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from a2a_adapters.limits import Limits


class TimeLimitError(Exception):
    """A run was stopped by its clock. The text is for the caller."""


class RunClock:
    """A context that stops what takes too long, or in which nothing happens for too long.

    One timer looks now and then when something happened `last`: to note that costs next to
    nothing, unlike a timeout around each event.

    Args:
        limits: How long.
        on_stop: Is told why, as soon as the time is up.

    Raises:
        TimeLimitError: On leaving, if the time was up: also if what was inside took no notice.
    """

    __slots__ = (
        "_deadline",
        "_limits",
        "_loop",
        "_on_stop",
        "_reason",
        "_task",
        "_timer",
        "last",
    )

    def __init__(self, limits: Limits, on_stop: Callable[[str], None]) -> None:
        self._limits = limits
        self._on_stop = on_stop
        self._loop = asyncio.get_running_loop()
        self._reason = ""

    async def __aenter__(self) -> Self:
        self._task = asyncio.current_task(self._loop)
        self.last = self._loop.time()
        """When something happened last, by the time of the loop."""
        self._deadline = self.last + self._limits.run_seconds
        self._look_later()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        if self._reason:
            if self._task is not None:
                self._task.uncancel()
            raise TimeLimitError(self._reason) from error

    def _look_later(self) -> None:
        idle_at = self.last + self._limits.idle_seconds
        self._timer = self._loop.call_at(min(idle_at, self._deadline), self._look)

    def _look(self) -> None:
        now = self._loop.time()
        run, idle = self._limits.run_seconds, self._limits.idle_seconds
        if now >= self._deadline:
            self._reason = f"The agent was stopped after {run:g} s."
        elif now >= self.last + idle:
            self._reason = f"The agent was stopped: nothing came from it for {idle:g} s."
        else:
            self._look_later()
            return
        if self._task is not None:
            self._task.cancel()
        self._on_stop(self._reason)
