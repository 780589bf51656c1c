"""One log line and one span per request, over whatever binding.

What a request brings of W3C's trace context is there in the framework's run (OpenTelemetry).
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

    Whether the application has set a tracer provider is looked up once, at the first request.
    """

    @cached_property
    def _tracer(self) -> Tracer | None:
        return _find_tracer()

    def is_needed(self, headers: Mapping[str, str]) -> bool:
        """Tell whether requests are logged or traced here, or one of these headers traces it."""
        return (
            self._tracer is not None
            or logger.isEnabledFor(logging.INFO)
            or (IS_INSTALLED and "traceparent" in headers)
        )

    @contextmanager
    def request(
        self, verb: str, path: str, headers: Mapping[str, str], status: int | str = 0
    ) -> Iterator[RequestRecord]:
        """Work in a request's trace; log it at the end.

        Args:
            verb: The verb of HTTP, or `gRPC`.
            path: What is called.
            headers: The request's headers, their names in lower case.
            status: What is noted as its status if nothing else is.
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
    if not logger.isEnabledFor(logging.INFO):
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
        # A path is whatever a client sends: the message must stay one line.
        record.operation or ascii(path),
        record.status,
        milliseconds,
        f", task {record.task_id}" if record.task_id else "",
        extra={name: value for name, value in fields.items() if value != ""},
    )


def _describe(span: Span, verb: str, path: str, record: RequestRecord) -> None:
    """Fill in what is known at the end (OpenTelemetry's semantic conventions)."""
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
    """Filled while a request is answered, logged when it has been.

    Attributes:
        operation: The operation's name in the specification; empty if it is none of A2A.
        task_id: The task it is about.
        context_id: The task's conversation.
        owner: The authenticated user's name.
        error: The kind of error it was refused with.
        status: The status of the HTTP answer, the name of gRPC's; 0 if there was no answer.
    """

    operation: str = ""
    task_id: str = ""
    context_id: str = ""
    owner: str = ""
    error: str = ""
    status: int | str = 0

    def note_task(self, task_id: str, context_id: str, owner: str) -> None:
        """Note which task the request is about."""
        self.task_id, self.context_id, self.owner = task_id, context_id, owner

    def fields(self) -> dict[str, str]:
        """Return what is known, without the status."""
        return {name: value for name, value in asdict(self).items() if value and name != "status"}


CURRENT: ContextVar[RequestRecord | None] = ContextVar("a2a_request", default=None)
"""The record of this request; None if nobody wants to know."""


def note_error(error: BaseException) -> None:
    """Note why the request is refused."""
    if (record := CURRENT.get()) is not None:
        record.error = type(error).__name__


def _find_tracer() -> Tracer | None:
    """Return what makes spans; None if the application has set no tracer provider."""
    if not IS_INSTALLED:
        return None
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        return None
    return provider.get_tracer("a2a_adapters")


@contextmanager
def _request_span(tracer: Tracer | None, headers: Mapping[str, str]) -> Iterator[Span | None]:
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


def trace_id() -> str:
    """Return the id of the current trace as in `traceparent`, empty if there is none."""
    if not IS_INSTALLED:
        return ""
    current = trace.get_current_span().get_span_context()
    return trace.format_trace_id(current.trace_id) if current.is_valid else ""
