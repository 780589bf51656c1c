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
from starlette.responses import Response
from starlette.routing import Route

from a2a_adapters.contract.dialect_routes import DialectRoutes
from a2a_adapters_server.worker_figures import WorkerFigures

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.requests import Request

    from a2a_adapters.observability.figures import ProcessFigures

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
    ("waiting", "Stored tasks that wait for an answer, at most 10,000."),
)
"""Attributes of `Figures` and names of metrics."""


def metrics_routes(figures: ProcessFigures) -> DialectRoutes:
    """Return the route that serves the metrics of agents and of Prometheus' default registry."""
    own = CollectorRegistry()
    own.register(_Agents(figures))
    if figures.storage is not None:
        own.register(figures.storage)
    own.register(REGISTRY)  # metrics of the process, of plugins and of user code
    workers = figures.workers if isinstance(figures.workers, WorkerFigures) else None
    if workers is not None:
        workers.read = partial(generate_latest, own)

    async def metrics(request: Request) -> Response:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        registry = own
        if workers is not None:
            registry = CollectorRegistry()
            registry.register(_Merged(await workers.collect()))
        return Response(encode(registry), headers={"Content-Type": content_type})

    return DialectRoutes(calls=[Route("/metrics", metrics, methods=["GET"])])


class _Agents(Collector):
    """Collects the metrics of agents on request."""

    def __init__(self, figures: ProcessFigures) -> None:
        self._agents = figures.agents
        self._outliving = figures.outliving
        self._lag = figures.lag

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
        yield GaugeMetricFamily(
            "a2a_loop_lag_seconds",
            "Time that a callback waits for its turn in the event loop.",
            value=self._lag().seconds,
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
