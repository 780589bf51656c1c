"""W3C trace context: what a request brings is there in the framework's run (OpenTelemetry)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.trace import Span, Tracer

try:
    from opentelemetry import context, propagate, trace
except ImportError:
    IS_INSTALLED = False
else:
    IS_INSTALLED = True


def find_tracer() -> Tracer | None:
    """Return what makes spans; None if the application has set no tracer provider."""
    if not IS_INSTALLED:
        return None
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        return None
    return provider.get_tracer("a2a_adapters")


@contextmanager
def request_span(tracer: Tracer | None, headers: Mapping[str, str]) -> Iterator[Span | None]:
    """Work in the trace that the headers name, and in a span of its own if spans are made.

    Tasks and threads started meanwhile inherit it, the framework's run among them.
    """
    if not IS_INSTALLED:
        yield None
        return
    token = context.attach(propagate.extract(headers, context.get_current()))
    try:
        if tracer is None:
            yield None
        else:
            # An error of the caller's is none of the server's.
            with tracer.start_as_current_span(
                "A2A",
                kind=trace.SpanKind.SERVER,
                record_exception=False,
                set_status_on_exception=False,
            ) as span:
                yield span
    finally:
        context.detach(token)


def mark_failed(span: Span) -> None:
    """Mark a request that failed by the server's fault."""
    span.set_status(trace.StatusCode.ERROR)


def trace_id() -> str:
    """Return the id of the current trace as in `traceparent`, empty if there is none."""
    if not IS_INSTALLED:
        return ""
    current = trace.get_current_span().get_span_context()
    return trace.format_trace_id(current.trace_id) if current.is_valid else ""
