"""Metrics of a process's storage and bus."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from a2a_adapters.observability.figures import Histogram

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.core import Metric

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Upper bounds of the histogram buckets for reads and writes, in seconds."""


class StorageFigures:
    """Metrics of one process's storage.

    Attributes:
        read_seconds: Durations of queries.
        write_seconds: Durations of transactions, each with the writes of many tasks.
        waiting_writes: Returns the number of queued writes.
        leases_lost: Number of leases that expired before their renewal.
        bus_losses: Number of possible losses of bus messages, including one for each
            start of listening.
    """

    __slots__ = (
        "_asked_at",
        "_bus_seconds",
        "bus_losses",
        "leases_lost",
        "read_seconds",
        "waiting_writes",
        "write_seconds",
    )

    def __init__(self) -> None:
        self.read_seconds = Histogram(_BOUNDS)
        self.write_seconds = Histogram(_BOUNDS)
        self.waiting_writes = 0
        self.leases_lost = 0
        self.bus_losses = 0
        self._bus_seconds = 0.0
        self._asked_at: float | None = None

    def ask_bus(self) -> None:
        """Note that a heartbeat was sent over the bus."""
        if self._asked_at is None:
            self._asked_at = time.monotonic()

    def hear_bus(self) -> None:
        """Note that the heartbeat has arrived."""
        if self._asked_at is not None:
            self._bus_seconds = time.monotonic() - self._asked_at
            self._asked_at = None

    @property
    def bus_lag(self) -> float:
        """Delay of the bus in seconds: of the last heartbeat, or so far of a pending one."""
        if self._asked_at is None:
            return self._bus_seconds
        return max(self._bus_seconds, time.monotonic() - self._asked_at)

    def collect(self) -> Iterable[Metric]:
        """Return the metrics for Prometheus (needs the extra `metrics`)."""
        from prometheus_client.core import (  # noqa: PLC0415 - an extra
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        seconds = HistogramMetricFamily(
            "a2a_storage_seconds", "Duration of storage operations.", labels=["operation"]
        )
        for operation, took in (("read", self.read_seconds), ("write", self.write_seconds)):
            seconds.add_metric([operation], took.buckets(), took.total)
        yield seconds
        yield GaugeMetricFamily(
            "a2a_storage_queue", "Writes waiting for a transaction.", self.waiting_writes
        )
        yield CounterMetricFamily(
            "a2a_leases_lost", "Leases that expired before their renewal.", self.leases_lost
        )
        yield GaugeMetricFamily(
            "a2a_bus_lag_seconds", "Delay of the bus between processes.", self.bus_lag
        )
        yield CounterMetricFamily(
            "a2a_bus_losses", "Possible losses of bus messages.", self.bus_losses
        )
