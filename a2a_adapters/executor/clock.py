"""The time limits of one run."""

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
    """A run was stopped by its clock. The text is for the caller."""

    def __init__(self, message: str) -> None:
        super().__init__("limit", message)


class RunClocks:
    """The clocks of all runs of an executor. They share one timer, which few runs ever wait for.

    Args:
        limits: How long a run may take, and how long nothing may happen in it.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._running: set[RunClock] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        """Whose timer is set: it looks before the time of any clock is up."""

    def clock(self, on_stop: Callable[[str], None]) -> RunClock:
        """Return the clock of one run, to be entered; `on_stop` is told why it stops the run."""
        return RunClock(self, self._limits, on_stop)

    def begin(self, clock: RunClock, loop: asyncio.AbstractEventLoop) -> None:
        """Look at a clock that has just begun, whose time is up after those before it."""
        self._running.add(clock)
        if self._loop is not loop:
            self._look_later(loop, clock.due)

    def end(self, clock: RunClock) -> None:
        """Look at it no more."""
        self._running.discard(clock)

    def _look_later(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        self._loop = loop
        loop.call_at(at, self._look, loop, context=Context())  # it is of no run

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
    """A context that stops what takes too long, or in which nothing happens for too long.

    A timer looks now and then when something happened `last`: to note that costs next to
    nothing, unlike a timeout around each event.

    Raises:
        TimeLimitError: On leaving, if the time was up: also if what was inside took no notice.
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
        """When something happened last, by the time of the loop."""
        self._deadline = self.last + self._limits.run_seconds
        self.context = copy_context()
        """What is true of the run, and of what stops it."""
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
        """When the time is up if nothing happens meanwhile, by the time of the loop."""
        return min(self.last + self._limits.idle_seconds, self._deadline)

    def stop(self, now: float) -> None:
        """Stop what is inside: its time is up."""
        run, idle = self._limits.run_seconds, self._limits.idle_seconds
        if now >= self._deadline:
            self._reason = f"The agent was stopped after {run:g} s."
        else:
            self._reason = f"The agent was stopped: nothing came from it for {idle:g} s."
        if self._task is not None:
            self._task.cancel()
        self._on_stop(self._reason)
