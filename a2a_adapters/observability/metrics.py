"""Prometheus metrics of all agents, at `/metrics`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from starlette.datastructures import Headers
from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from starlette.types import Receive, Scope, Send

    from a2a_adapters.observability.figures import Figures
    from a2a_adapters.observability.workers import WorkerFigures

_AGENT = "agent"
_COUNTERS = (
    ("tasks", "Ended tasks.", "state"),
    ("refusals", "Refused messages.", "error"),
    ("pushes", "Push notifications.", "outcome"),
    ("takeovers", "Tasks taken over from dead processes.", "outcome"),
)
_GAUGES = (
    ("running", "Running messages."),
    ("queued", "Queued messages."),
    ("open_streams", "Open streams."),
    ("owned_tasks", "Tasks that run or wait in this process."),
)
"""Attributes of `Figures` and names of metrics."""


class MetricsEndpoint:
    """Serves the metrics of agents and of Prometheus' default registry.

    Args:
        agents: The metrics by agent.
        outliving: Returns the number of blocking calls that outlive their tasks.
        storage: The metrics of the storage, if any.
        workers: The workers on the same port, whose metrics are included.
    """

    def __init__(
        self,
        agents: Mapping[str, Figures],
        outliving: Callable[[], int],
        storage: Collector | None = None,
        workers: WorkerFigures | None = None,
    ) -> None:
        self._workers = workers
        self._registry = CollectorRegistry()
        self._registry.register(_Agents(agents, outliving))
        if storage is not None:
            self._registry.register(storage)
        self._registry.register(REGISTRY)  # metrics of the process, of plugins and of user code
        if workers is not None:
            workers.read = partial(generate_latest, self._registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (ASGI)."""
        encode, content_type = choose_encoder(Headers(scope=scope).get("accept", ""))
        registry = self._registry
        if self._workers is not None:
            registry = CollectorRegistry()
            registry.register(_Merged(await self._workers.collect()))
        response = Response(encode(registry), headers={"Content-Type": content_type})
        await response(scope, receive, send)


class _Agents(Collector):
    """Collects the metrics of agents on request."""

    def __init__(self, agents: Mapping[str, Figures], outliving: Callable[[], int]) -> None:
        self._agents = agents
        self._outliving = outliving

    def collect(self) -> Iterable[Metric]:
        """Yield all metrics of all agents."""
        for name, text, label in _COUNTERS:
            family = CounterMetricFamily(f"a2a_{name}", text, labels=[_AGENT, label])
            for agent, figures in self._agents.items():
                for kind, count in getattr(figures, name).items():
                    family.add_metric([agent, kind], count)
            yield family
        for name, text in _GAUGES:
            gauge = GaugeMetricFamily(f"a2a_{name}", text, labels=[_AGENT])
            for agent, figures in self._agents.items():
                gauge.add_metric([agent], getattr(figures, name))
            yield gauge
        lost = CounterMetricFamily(
            "a2a_lost_tasks", "Tasks that other processes took over.", labels=[_AGENT]
        )
        runs = HistogramMetricFamily("a2a_run_seconds", "Durations of runs.", labels=[_AGENT])
        for agent, figures in self._agents.items():
            lost.add_metric([agent], figures.lost_tasks)
            runs.add_metric([agent], figures.run_seconds.buckets(), figures.run_seconds.total)
        yield lost
        yield runs
        yield GaugeMetricFamily(
            "a2a_outliving_calls",
            "Blocking calls and agents that outlive their tasks.",
            value=self._outliving(),
        )


class _Merged(Collector):
    """Merges the metrics of all workers, with the label `worker`."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def collect(self) -> Iterable[Metric]:
        """Return the merged metrics."""
        merged: dict[str, Metric] = {}
        for worker, text in self._texts.items():
            for family in text_string_to_metric_families(text):
                known = merged.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type)
                )
                for sample in family.samples:
                    labels = {**sample.labels, "worker": worker}
                    known.add_sample(sample.name, labels, sample.value)
        return merged.values()
