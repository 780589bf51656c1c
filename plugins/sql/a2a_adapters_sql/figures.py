"""What a process counts of its storage and of its way to the other processes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from a2a_adapters.observability.figures import Histogram

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.core import Metric

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Upper bounds of the buckets for reads and writes, in seconds."""


class StorageFigures:
    """The figures of one process's storage.

    Attributes:
        read_seconds: How long queries took.
        write_seconds: How long transactions took, each with the writes of many tasks.
        waiting_writes: How many writes wait for the next transaction.
        leases_lost: How often the lease had ended before it was renewed.
        bus_losses: How often letters of other processes may have been lost; once for each time
            that it began to listen.
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
        """Note that something is sent over the bus that comes back here."""
        if self._asked_at is None:
            self._asked_at = time.monotonic()

    def hear_bus(self) -> None:
        """Note that it has come back."""
        if self._asked_at is not None:
            self._bus_seconds = time.monotonic() - self._asked_at
            self._asked_at = None

    @property
    def bus_lag(self) -> float:
        """How many seconds the bus takes, or has taken already for what is still on its way."""
        if self._asked_at is None:
            return self._bus_seconds
        return max(self._bus_seconds, time.monotonic() - self._asked_at)

    def collect(self) -> Iterable[Metric]:
        """Return every figure for Prometheus, whose client comes with the extra `metrics`."""
        from prometheus_client.core import (  # noqa: PLC0415 - an extra
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        seconds = HistogramMetricFamily(
            "a2a_storage_seconds", "How long the storage took.", labels=["operation"]
        )
        for operation, took in (("read", self.read_seconds), ("write", self.write_seconds)):
            seconds.add_metric([operation], took.buckets(), took.total)
        yield seconds
        yield GaugeMetricFamily(
            "a2a_storage_queue", "Writes that wait for a transaction.", self.waiting_writes
        )
        yield CounterMetricFamily(
            "a2a_leases_lost", "Leases that ended before their renewal.", self.leases_lost
        )
        yield GaugeMetricFamily(
            "a2a_bus_lag_seconds", "How long the bus between processes takes.", self.bus_lag
        )
        yield CounterMetricFamily(
            "a2a_bus_losses", "Times that letters may have been lost.", self.bus_losses
        )
