"""One log line and one span per request, over any binding.

A request's W3C trace context is propagated to the framework's run (OpenTelemetry).
"""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from a2a_adapters.contract.text import clipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.trace import Span, Tracer

try:
    from opentelemetry import context, propagate, trace
except ImportError:
    IS_INSTALLED = False
else:
    IS_INSTALLED = True

logger = logging.getLogger("a2a_adapters.requests")


class Observer:
    """Observes requests if they are logged or traced.

    The application's tracer provider is looked up once, at the first request.
    """

    @cached_property
    def _tracer(self) -> Tracer | None:
        return _find_tracer()

    def is_needed(self, headers: Mapping[str, str]) -> bool:
        """Return whether requests are logged or traced, or this one has a trace context."""
        return (
            self._tracer is not None
            or logger.isEnabledFor(logging.INFO)
            or (IS_INSTALLED and "traceparent" in headers)
        )

    @contextmanager
    def request(
        self, verb: str, path: str, headers: Mapping[str, str], status: int | str = 0
    ) -> Iterator[RequestRecord]:
        """Process a request in its trace, and log it at the end.

        Args:
            verb: The HTTP method, or `gRPC`.
            path: The requested path or method.
            headers: The request's headers by lower-case name.
            status: The status if none is recorded.
        """
        record = RequestRecord(status=status)
        path = clipped(path)
        token = CURRENT.set(record)
        began_at = time.perf_counter()
        try:
            with _request_span(self._tracer, headers) as span:
                try:
                    yield record
                finally:
                    if span is not None:
                        _describe(span, verb, path, record)
                    _log(verb, path, record, time.perf_counter() - began_at)
        finally:
            CURRENT.reset(token)


def _log(verb: str, path: str, record: RequestRecord, seconds: float) -> None:
    if record.is_hidden or not logger.isEnabledFor(logging.INFO):
        return
    milliseconds = round(seconds * 1000, 3)
    fields = {
        "verb": verb,
        "path": path,
        "status": record.status,
        "duration_ms": milliseconds,
        "trace_id": trace_id(),
        **record.fields(),
    }
    logger.info(
        "%s %s %s in %s ms%s",
        verb,
        # Clients choose the path: keep the message on one line.
        record.operation or ascii(path),
        record.status,
        milliseconds,
        f", task {record.task_id}" if record.task_id else "",
        extra={name: value for name, value in fields.items() if value != ""},
    )


def _describe(span: Span, verb: str, path: str, record: RequestRecord) -> None:
    """Set the attributes of a span at its end (OpenTelemetry's semantic conventions)."""
    span.update_name(record.operation or verb)
    if isinstance(record.status, int):
        span.set_attribute("http.request.method", verb)
        span.set_attribute("url.path", path)
        span.set_attribute("http.response.status_code", record.status)
    else:
        span.set_attribute("rpc.system", verb.lower())
        span.set_attribute("rpc.method", path)
        span.set_attribute("rpc.response.status_code", record.status)
    if record.error == "InternalError":
        span.set_status(trace.StatusCode.ERROR)
    for name, value in record.fields().items():
        span.set_attribute("error.type" if name == "error" else f"a2a.{name}", value)


@dataclass(slots=True)
class RequestRecord:
    """The data of a request's log line, recorded while it is processed.

    Attributes:
        operation: The A2A operation, if any.
        task_id: The task.
        context_id: The task's conversation.
        owner: The authenticated user.
        error: The type of the error with which it was refused.
        status: The HTTP status, or the name of the gRPC status; 0 without a response.
        is_hidden: Whether the request is left out of the log.
    """

    operation: str = ""
    task_id: str = ""
    context_id: str = ""
    owner: str = ""
    error: str = ""
    status: int | str = 0
    is_hidden: bool = False

    def note_task(self, task_id: str, context_id: str, owner: str) -> None:
        """Record the task of the request."""
        self.task_id, self.context_id, self.owner = task_id, context_id, owner

    def fields(self) -> dict[str, str]:
        """Return the recorded fields without the status."""
        left_out = {"status", "is_hidden"}
        return {k: v for k, v in asdict(self).items() if v and k not in left_out}


CURRENT: ContextVar[RequestRecord | None] = ContextVar("a2a_request", default=None)
"""The record of the current request; None if it is not observed."""


def note_error(error: BaseException) -> None:
    """Record the error with which the current request is refused."""
    if (record := CURRENT.get()) is not None:
        record.error = type(error).__name__


def _find_tracer() -> Tracer | None:
    """Return a tracer, or None if the application has not set a tracer provider."""
    if not IS_INSTALLED:
        return None
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        return None
    return provider.get_tracer("a2a_adapters")


@contextmanager
def _request_span(tracer: Tracer | None, headers: Mapping[str, str]) -> Iterator[Span | None]:
    """Enter the trace that the headers name, and a new span if there is a tracer.

    Tasks and threads started in the meantime inherit it, including the framework's run.
    """
    if not IS_INSTALLED:
        yield None
        return
    token = context.attach(propagate.extract(headers, context.get_current()))
    try:
        if tracer is None:
            yield None
        else:
            # Refusals are errors of the caller, not of the server.
            with tracer.start_as_current_span(
                "A2A",
                kind=trace.SpanKind.SERVER,
                record_exception=False,
                set_status_on_exception=False,
            ) as span:
                yield span
    finally:
        context.detach(token)


def trace_id() -> str:
    """Return the id of the current trace as in `traceparent`, or ""."""
    if not IS_INSTALLED:
        return ""
    current = trace.get_current_span().get_span_context()
    return trace.format_trace_id(current.trace_id) if current.is_valid else ""
