"""The figures of all agents for Prometheus, at `/metrics`."""

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
    from collections import Counter
    from collections.abc import Callable, Iterable, Mapping

    from starlette.types import Receive, Scope, Send

    from a2a_adapters.observability.figures import Figures, Histogram
    from a2a_adapters.observability.process import StorageFigures
    from a2a_adapters.observability.workers import WorkerFigures

_AGENT = "agent"


class MetricsEndpoint:
    """Shows the figures of agents, by their names, and those of Prometheus' default registry.

    Args:
        agents: The figures.
        outliving: Tells how many blocking calls work for tasks that were stopped.
        storage: The figures of the storage, if it has any.
        workers: Those that share the port; their figures are shown as well.
    """

    def __init__(
        self,
        agents: Mapping[str, Figures],
        outliving: Callable[[], int],
        storage: StorageFigures | None = None,
        workers: WorkerFigures | None = None,
    ) -> None:
        self._workers = workers
        self._registry = CollectorRegistry()
        self._registry.register(_Agents(agents, outliving))
        if storage is not None:
            self._registry.register(_Storage(storage))
        self._registry.register(REGISTRY)  # of the process, of plugins, of the user's code
        if workers is not None:
            workers.read = partial(generate_latest, self._registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request (ASGI)."""
        encode, content_type = choose_encoder(Headers(scope=scope).get("accept", ""))
        registry = self._registry
        if self._workers is not None:
            registry = CollectorRegistry()
            registry.register(_Merged(await self._workers.collect()))
        response = Response(encode(registry), headers={"Content-Type": content_type})
        await response(scope, receive, send)


class _Agents(Collector):
    """Reads the figures when they are asked for."""

    def __init__(self, agents: Mapping[str, Figures], outliving: Callable[[], int]) -> None:
        self._agents = agents
        self._outliving = outliving

    def collect(self) -> Iterable[Metric]:
        """Return every figure of every agent."""
        yield self._counter("a2a_tasks", "Tasks that have ended.", "state", _tasks)
        yield self._counter("a2a_refusals", "Messages that were refused.", "error", _refusals)
        yield self._counter("a2a_pushes", "Push notifications sent or not.", "outcome", _pushes)
        yield self._gauge("a2a_running", "Messages being answered.", lambda f: f.running)
        yield self._gauge("a2a_queued", "Messages waiting for their turn.", lambda f: f.queued)
        yield self._gauge("a2a_open_streams", "Streams being read.", lambda f: f.open_streams)
        yield self._gauge("a2a_owned_tasks", "Tasks that run or wait here.", lambda f: f.owned)
        yield self._counter(
            "a2a_takeovers", "Tasks taken over from others.", "outcome", lambda f: f.takeovers
        )
        lost = CounterMetricFamily(
            "a2a_lost_tasks", "Tasks that others took from here.", labels=[_AGENT]
        )
        for name, figures in self._agents.items():
            lost.add_metric([name], figures.lost_tasks)
        yield lost
        runs = HistogramMetricFamily(
            "a2a_run_seconds", "How long the agent took for a message.", labels=[_AGENT]
        )
        for name, figures in self._agents.items():
            runs.add_metric([name], _buckets(figures.run_seconds), figures.run_seconds.total)
        yield runs
        yield GaugeMetricFamily(
            "a2a_outliving_calls",
            "Blocking calls and agents that work for tasks that were stopped.",
            value=self._outliving(),
        )

    def _counter(
        self, name: str, text: str, label: str, read: Callable[[Figures], Counter[str]]
    ) -> CounterMetricFamily:
        family = CounterMetricFamily(name, text, labels=[_AGENT, label])
        for agent, figures in self._agents.items():
            for kind, count in read(figures).items():
                family.add_metric([agent, kind], count)
        return family

    def _gauge(self, name: str, text: str, read: Callable[[Figures], int]) -> GaugeMetricFamily:
        family = GaugeMetricFamily(name, text, labels=[_AGENT])
        for agent, figures in self._agents.items():
            family.add_metric([agent], read(figures))
        return family


class _Storage(Collector):
    """Reads the figures of the storage when they are asked for."""

    def __init__(self, figures: StorageFigures) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        """Return every figure."""
        figures = self._figures
        seconds = HistogramMetricFamily(
            "a2a_storage_seconds", "How long the storage took.", labels=["operation"]
        )
        for operation, took in (("read", figures.read_seconds), ("write", figures.write_seconds)):
            seconds.add_metric([operation], _buckets(took), took.total)
        yield seconds
        yield GaugeMetricFamily(
            "a2a_storage_queue", "Writes that wait for a transaction.", figures.waiting_writes
        )
        yield CounterMetricFamily(
            "a2a_leases_lost", "Leases that ended before their renewal.", figures.leases_lost
        )
        yield GaugeMetricFamily(
            "a2a_bus_lag_seconds", "How long the bus between processes takes.", figures.bus_lag
        )
        yield CounterMetricFamily(
            "a2a_bus_losses", "Times that letters may have been lost.", figures.bus_losses
        )


def _tasks(figures: Figures) -> Counter[str]:
    return figures.tasks


def _refusals(figures: Figures) -> Counter[str]:
    return figures.refusals


def _pushes(figures: Figures) -> Counter[str]:
    return figures.pushes


def _buckets(histogram: Histogram) -> list[tuple[str, float]]:
    """Return the buckets as Prometheus has them, each with those below it."""
    total, buckets = 0, []
    for bound, count in zip((*map(str, histogram.bounds), "+Inf"), histogram.counts, strict=True):
        total += count
        buckets.append((bound, float(total)))
    return buckets


class _Merged(Collector):
    """Shows each figure once, with the samples of all workers and the label `worker`."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def collect(self) -> Iterable[Metric]:
        """Return every figure."""
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
