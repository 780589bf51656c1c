"""The start and end of runs: the order of a conversation, slots and time limits."""

from __future__ import annotations

import asyncio
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Self

from a2a_adapters.concurrency.threads import threads
from a2a_adapters.contract.errors import AgentFailedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from a2a_adapters.concurrency.threads import TaskCalls
    from a2a_adapters.contract.limits import Limits
    from a2a_adapters.executor.history import ConversationKey


class Turns:
    """Orders the requests of one agent.

    Those of a conversation are answered one at a time, and wait `Limits.run_seconds` for each
    other; at most `Limits.runs` are answered at the same time.
    """

    def __init__(self, limits: Limits) -> None:
        self._seconds = limits.run_seconds
        self.slots = asyncio.Semaphore(limits.runs)
        self.waiting: dict[ConversationKey, list[asyncio.Future[None]]] = {}
        """The waiters of each conversation in use."""

    async def acquire(self, key: ConversationKey) -> None:
        """Wait for earlier requests of the conversation, then hold it.

        Raises:
            TimeoutError: An earlier request exceeds its time and continues.
        """
        if key not in self.waiting:
            self.waiting[key] = []
            return
        waiter = asyncio.get_running_loop().create_future()
        self.waiting[key].append(waiter)
        try:
            async with asyncio.timeout(self._seconds):
                await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():  # its turn has just come
                self.release(key)
            raise

    def release(self, key: ConversationKey) -> None:
        """Give the conversation to the next request."""
        waiting = self.waiting[key]
        while waiting:
            waiter = waiting.pop(0)
            if not waiter.done():
                waiter.set_result(None)
                return
        del self.waiting[key]


class Turn:
    """Holds the conversation, and a slot, for one request.

    Args:
        calls: The blocking calls of its task, if its slot includes a thread.
    """

    __slots__ = ("_calls", "_has_slot", "_is_held", "_key", "_pool", "_turns")

    def __init__(self, turns: Turns, key: ConversationKey, calls: TaskCalls | None = None) -> None:
        self._turns = turns
        self._key = key
        self._calls = calls
        self._pool = threads() if calls is not None else None
        self._is_held = self._has_slot = False

    @property
    def has_to_wait(self) -> bool:
        """Whether its conversation is in use, or no slot is free."""
        return self._key in self._turns.waiting or self.is_full

    @property
    def is_full(self) -> bool:
        """Whether no slot is free."""
        pool, calls = self._pool, self._calls
        lacks_thread = pool is not None and calls is not None and pool.is_full(calls)
        return lacks_thread or self._turns.slots.locked()

    async def __aenter__(self) -> Self:
        await self._turns.acquire(self._key)
        self._is_held = True
        return self

    async def take_slot(self) -> None:
        """Wait for a slot, and hold it as long as the conversation."""
        await self._turns.slots.acquire()
        self._has_slot = True
        if self._pool is not None and self._calls is not None:
            await self._pool.reserve(self._calls)

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Release the slot and the conversation."""
        if self._has_slot:
            self._has_slot = False
            self._turns.slots.release()
        if self._is_held:
            self._is_held = False
            self._turns.release(self._key)


class TimeLimitError(AgentFailedError):
    """A run exceeded its time limit. The text is for the caller."""

    def __init__(self, message: str) -> None:
        super().__init__("limit", message)


class RunClocks:
    """The clocks of all runs of an executor, which share one timer."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._running: set[RunClock] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop of the pending timer, which fires before any clock is due."""

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

    Args:
        clocks: The clocks of all runs.
        on_stop: Gets the reason if the run is stopped.

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

    def __init__(self, clocks: RunClocks, on_stop: Callable[[str], None]) -> None:
        self._clocks = clocks
        self._limits = clocks.limits
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
