"""The time limits of a run."""

from __future__ import annotations

import asyncio
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Self

from a2a_adapters.contract.errors import AgentFailedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from a2a_adapters.contract.limits import Limits


class TimeLimitError(AgentFailedError):
    """A run exceeded its time limit. The text is for the caller."""

    def __init__(self, message: str) -> None:
        super().__init__("limit", message)


class RunClocks:
    """The clocks of all runs of an executor, which share one timer."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._running: set[RunClock] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop of the pending timer, which fires before any clock is due."""

    def clock(self, on_stop: Callable[[str], None]) -> RunClock:
        """Return the clock of one run, to be entered; `on_stop` gets the reason if it stops."""
        return RunClock(self, self._limits, on_stop)

    def begin(self, clock: RunClock, loop: asyncio.AbstractEventLoop) -> None:
        """Watch a clock."""
        self._running.add(clock)
        if self._loop is not loop:
            self._look_later(loop, clock.due)

    def end(self, clock: RunClock) -> None:
        """Stop watching a clock."""
        self._running.discard(clock)

    def _look_later(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        self._loop = loop
        loop.call_at(at, self._look, loop, context=Context())  # belongs to no run

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = None
        now = loop.time()
        late = [clock for clock in self._running if clock.due <= now]
        self._running.difference_update(late)
        if self._running:
            self._look_later(loop, min(clock.due for clock in self._running))
        for clock in late:
            clock.context.run(clock.stop, now)


class RunClock:
    """A context that stops a run that takes too long or is idle for too long.

    A timer checks the time of the `last` event now and then: setting that is nearly free, unlike a
    timeout around each event.

    Raises:
        TimeLimitError: On leaving, if the time was up, even if the run has ignored that.
    """

    __slots__ = (
        "_clocks",
        "_deadline",
        "_limits",
        "_on_stop",
        "_reason",
        "_task",
        "context",
        "last",
    )

    def __init__(self, clocks: RunClocks, limits: Limits, on_stop: Callable[[str], None]) -> None:
        self._clocks = clocks
        self._limits = limits
        self._on_stop = on_stop
        self._reason = ""

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._task = asyncio.current_task(loop)
        self.last = loop.time()
        """Time of the last event, by the loop's clock."""
        self._deadline = self.last + self._limits.run_seconds
        self.context = copy_context()
        """The context variables of the run, for `stop`."""
        self._clocks.begin(self, loop)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._clocks.end(self)
        if self._reason:
            if self._task is not None:
                self._task.uncancel()
            raise TimeLimitError(self._reason) from error

    @property
    def due(self) -> float:
        """End of the time limit without further events, by the loop's clock."""
        return min(self.last + self._limits.idle_seconds, self._deadline)

    def stop(self, now: float) -> None:
        """Stop the run: its time is up."""
        run, idle = self._limits.run_seconds, self._limits.idle_seconds
        if now >= self._deadline:
            self._reason = f"The agent was stopped after {run:g} s."
        else:
            self._reason = f"The agent was stopped: nothing came from it for {idle:g} s."
        if self._task is not None:
            self._task.cancel()
        self._on_stop(self._reason)
