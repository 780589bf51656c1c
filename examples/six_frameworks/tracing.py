"""Keeps the spans of all agents in memory."""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans = InMemorySpanExporter()


def trace_in_memory() -> trace.Tracer:
    """Set a tracer provider whose spans are in `spans`, and return a tracer."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    return trace.get_tracer("six_frameworks")
