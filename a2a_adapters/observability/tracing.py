"""W3C trace context: what a request brings is there in the framework's run (OpenTelemetry)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.trace import Span, Tracer
    from starlette.types import Scope

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


def brings_trace(scope: Scope) -> bool:
    """Tell whether a request belongs to a trace, and there is something to do about it."""
    return IS_INSTALLED and any(name == b"traceparent" for name, _ in scope["headers"])


@contextmanager
def request_span(tracer: Tracer | None, scope: Scope) -> Iterator[Span | None]:
    """Work in the trace that the request names, and in a span of its own if spans are made.

    Tasks and threads started meanwhile inherit it, the framework's run among them.
    """
    if not IS_INSTALLED:
        yield None
        return
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    token = context.attach(propagate.extract(headers, context.get_current()))
    try:
        if tracer is None:
            yield None
        else:
            with tracer.start_as_current_span("A2A", kind=trace.SpanKind.SERVER) as span:
                yield span
    finally:
        context.detach(token)


def trace_id() -> str:
    """Return the id of the current trace as in `traceparent`, empty if there is none."""
    if not IS_INSTALLED:
        return ""
    current = trace.get_current_span().get_span_context()
    return trace.format_trace_id(current.trace_id) if current.is_valid else ""
