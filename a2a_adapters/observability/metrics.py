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
    from collections.abc import Callable, Iterable, Mapping

    from starlette.types import Receive, Scope, Send

    from a2a_adapters.observability.figures import Figures
    from a2a_adapters.observability.workers import WorkerFigures

_AGENT = "agent"
_COUNTERS = (
    ("tasks", "Tasks that have ended.", "state"),
    ("refusals", "Messages that were refused.", "error"),
    ("pushes", "Push notifications sent or not.", "outcome"),
    ("takeovers", "Tasks taken over from others.", "outcome"),
)
_GAUGES = (
    ("running", "Messages being answered."),
    ("queued", "Messages waiting for their turn."),
    ("open_streams", "Streams being read."),
    ("owned_tasks", "Tasks that run or wait here."),
)
"""Attributes of `Figures`, which give the metrics their names."""


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
        storage: Collector | None = None,
        workers: WorkerFigures | None = None,
    ) -> None:
        self._workers = workers
        self._registry = CollectorRegistry()
        self._registry.register(_Agents(agents, outliving))
        if storage is not None:
            self._registry.register(storage)
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
            "a2a_lost_tasks", "Tasks that others took from here.", labels=[_AGENT]
        )
        runs = HistogramMetricFamily(
            "a2a_run_seconds", "How long the agent took for a message.", labels=[_AGENT]
        )
        for agent, figures in self._agents.items():
            lost.add_metric([agent], figures.lost_tasks)
            runs.add_metric([agent], figures.run_seconds.buckets(), figures.run_seconds.total)
        yield lost
        yield runs
        yield GaugeMetricFamily(
            "a2a_outliving_calls",
            "Blocking calls and agents that work for tasks that were stopped.",
            value=self._outliving(),
        )


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
