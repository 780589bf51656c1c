"""The metrics of a process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from prometheus_client.registry import Collector

    from a2a_adapters.observability.figures import Figures


class Workers(Protocol):
    """The workers on one port, which exchange their metrics."""

    def shared(self) -> AbstractAsyncContextManager[None]:
        """Send this worker's metrics to others until the block ends."""


@dataclass(frozen=True, slots=True)
class ProcessFigures:
    """The dialect of Prometheus: what `/metrics` shows.

    Attributes:
        agents: The metrics by agent.
        outliving: Returns the number of blocking calls that outlive their tasks.
        storage: The metrics of the storage, if any.
        workers: The workers on the same port, whose metrics are included.
    """

    agents: Mapping[str, Figures]
    outliving: Callable[[], int]
    storage: Collector | None
    workers: Workers | None
