"""Metrics of a runtime as plain numbers, which cost nothing unless they are read."""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from a2a.types import TaskState

from a2a_adapters.contract.plugins import installed_plugins

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from prometheus_client.registry import Collector

    from a2a_adapters.observability.loop import LoopLag

BOUNDS = (0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0)
"""Upper bounds of a histogram's buckets, in seconds."""


class Histogram:
    """A histogram of durations; `bounds` are the upper bounds of its buckets in seconds."""

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
        """Return the cumulative buckets of Prometheus."""
        bounds = (*map(str, self.bounds), "+Inf")
        return list(zip(bounds, map(float, accumulate(self.counts)), strict=True))


class Message(Protocol):
    """A queued or running message."""

    began_at: float

    @property
    def is_waiting(self) -> bool:
        """Whether the message is queued."""

    @property
    def error(self) -> Exception | None:
        """The error with which the message was refused, if any."""


class Figures:
    """The metrics of one agent.

    Args:
        count_owned: Returns the value of `owned_tasks`.

    Attributes:
        tasks: Number of ended tasks by terminal state.
        run_seconds: Durations of runs.
        refusals: Number of refused messages by type of error.
        pushes: Number of push notifications by outcome.
        messages: The queued and running messages, a set maintained by the runtime.
        open_streams: Number of open streams.
        takeovers: Number of tasks taken over from dead processes, by outcome.
        lost_tasks: Number of tasks that other processes took over from this one.
        waiting: Number of stored tasks that any process can continue with an answer, as of the last
            sweep.
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
        "waiting",
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
        self.waiting = 0

    def end(self, message: Message) -> None:
        """Count a message that has been answered."""
        if message.error is not None:
            self.refusals[type(message.error).__name__] += 1
        elif message.began_at:
            self.run_seconds.add(time.monotonic() - message.began_at)

    @property
    def owned_tasks(self) -> int:
        """Number of tasks that run in this process, or wait in it for their callers."""
        return self._count_owned()

    @property
    def queued(self) -> int:
        """Number of queued messages."""
        return sum(message.is_waiting for message in self.messages)

    @property
    def running(self) -> int:
        """Number of running messages."""
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
    """Count and log the end of a task, with the time for which this process has known it."""
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
        "trace_id": installed_plugins().telemetry.trace_id(),
    }
    logger.info(
        "task %s %s after %s ms",
        live.task_id,
        state,
        milliseconds,
        extra={name: value for name, value in fields.items() if value != ""},
    )


@runtime_checkable
class Workers(Protocol):
    """The workers on one port, which exchange their metrics."""

    def shared(self) -> AbstractAsyncContextManager[None]:
        """Send this worker's metrics to others until the block ends."""


@dataclass(frozen=True, slots=True)
class ProcessFigures:
    """The dialect of Prometheus: the metrics at `/metrics`.

    `outliving` returns the number of blocking calls that outlive their tasks, and `lag`
    the delay of the running event loop. The metrics of `workers` are included.
    """

    agents: Mapping[str, Figures]
    outliving: Callable[[], int]
    lag: Callable[[], LoopLag]
    storage: Collector | None
    workers: Workers | None
