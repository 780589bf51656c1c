"""What a runtime counts, in plain numbers: whether anyone reads them costs it nothing."""

from __future__ import annotations

import logging
import os
import socket
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate
from typing import Protocol

from a2a.types import TaskState

from a2a_adapters.observability.requests import trace_id

BOUNDS = (0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0)
"""Upper bounds of a histogram's buckets, in seconds."""


class Histogram:
    """How many durations there were of which length.

    Args:
        bounds: Upper bounds of its buckets, in seconds.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float] = BOUNDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """Return the buckets as Prometheus has them, each with those below it."""
        bounds = (*map(str, self.bounds), "+Inf")
        return list(zip(bounds, map(float, accumulate(self.counts)), strict=True))


def process_name() -> str:
    """Return what logs of all processes call this one: its host, and its number there."""
    return f"{socket.gethostname()}:{os.getpid()}"


class Message(Protocol):
    """A message that is being answered, or waits for that."""

    began_at: float

    @property
    def is_waiting(self) -> bool:
        """Whether others have to be answered first."""

    @property
    def error(self) -> Exception | None:
        """Why it was refused, if it was."""


class Figures:
    """The figures of one agent.

    Args:
        count_owned: Tells how many tasks run here, or wait here for their callers.

    Attributes:
        tasks: Tasks that have ended, by their last state.
        run_seconds: How long the agent took for a message, until its task ended or asked.
        refusals: Messages that were refused, by the kind of error.
        pushes: Push notifications, by what became of them.
        messages: Those that are being answered or wait for that; whoever answers keeps them.
        open_streams: How many streams are being read.
        takeovers: Tasks of processes that are gone, by what became of them here.
        lost_tasks: How many tasks other processes took from this one.
    """

    __slots__ = (
        "_count_owned",
        "lost_tasks",
        "messages",
        "open_streams",
        "pushes",
        "refusals",
        "run_seconds",
        "takeovers",
        "tasks",
    )

    def __init__(self, count_owned: Callable[[], int]) -> None:
        self._count_owned = count_owned
        self.takeovers: Counter[str] = Counter()
        self.lost_tasks = 0
        self.tasks: Counter[str] = Counter()
        self.run_seconds = Histogram()
        self.refusals: Counter[str] = Counter()
        self.pushes: Counter[str] = Counter()
        self.messages: AbstractSet[Message] = frozenset()
        self.open_streams = 0

    def end(self, message: Message) -> None:
        """Count a message that has been answered."""
        if message.error is not None:
            self.refusals[type(message.error).__name__] += 1
        elif message.began_at:
            self.run_seconds.add(time.monotonic() - message.began_at)

    @property
    def owned_tasks(self) -> int:
        """How many tasks run here, or wait here for their callers."""
        return self._count_owned()

    @property
    def queued(self) -> int:
        """How many messages wait for their turn."""
        return sum(message.is_waiting for message in self.messages)

    @property
    def running(self) -> int:
        """How many messages are being answered."""
        return len(self.messages) - self.queued


_NAMES = {value: name.removeprefix("TASK_STATE_").lower() for name, value in TaskState.items()}

logger = logging.getLogger("a2a_adapters.tasks")


class Ended(Protocol):
    """A task that has ended."""

    task_id: str
    context_id: str
    owner: str
    state: TaskState
    known_since: float


def report_end(figures: Figures, live: Ended) -> None:
    """Count and log that a task has ended, and how long this process has known it."""
    state = _NAMES[live.state]
    figures.tasks[state] += 1
    if not logger.isEnabledFor(logging.INFO):
        return
    milliseconds = round((time.monotonic() - live.known_since) * 1000, 3)
    fields = {
        "task_id": live.task_id,
        "context_id": live.context_id,
        "owner": live.owner,
        "state": state,
        "duration_ms": milliseconds,
        "trace_id": trace_id(),
    }
    logger.info(
        "task %s %s after %s ms",
        live.task_id,
        state,
        milliseconds,
        extra={name: value for name, value in fields.items() if value != ""},
    )
