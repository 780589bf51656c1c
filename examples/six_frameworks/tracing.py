"""Traces: all spans are kept in memory, and calls of remote agents continue the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

if TYPE_CHECKING:
    from collections.abc import Generator

spans = InMemorySpanExporter()


def trace_in_memory() -> trace.Tracer:
    """Set a tracer provider whose spans are in `spans`, and return a tracer."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    return trace.get_tracer("six_frameworks")


class TraceAuth(httpx.Auth):
    """Adds the current trace to the requests of a `RemoteAgent`."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        TraceContextTextMapPropagator().inject(request.headers)
        yield request
