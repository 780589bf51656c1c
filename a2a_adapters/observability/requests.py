"""One log line and one span per request, over whatever binding."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from a2a_adapters.headers import headers_of
from a2a_adapters.observability.record import CURRENT, RequestRecord
from a2a_adapters.observability.tracing import (
    IS_INSTALLED,
    find_tracer,
    mark_failed,
    request_span,
    trace_id,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.trace import Span, Tracer
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger("a2a_adapters.requests")


class Observer:
    """Observes requests if they are logged or traced.

    Whether the application has set a tracer provider is looked up once, at the first request.
    """

    @cached_property
    def _tracer(self) -> Tracer | None:
        return find_tracer()

    def is_needed(self) -> bool:
        """Tell whether requests are logged or traced here."""
        return self._tracer is not None or logger.isEnabledFor(logging.INFO)

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
        token = CURRENT.set(record)
        began_at = time.perf_counter()
        try:
            with request_span(self._tracer, headers) as span:
                try:
                    yield record
                finally:
                    if span is not None:
                        _describe(span, verb, path, record)
                    _log(verb, path, record, time.perf_counter() - began_at)
        finally:
            CURRENT.reset(token)


class RequestObserver:
    """ASGI middleware: observes requests if need be, else stands aside.

    Args:
        app: What answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._observer = Observer()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request (ASGI)."""
        if scope["type"] == "http" and (self._observer.is_needed() or _brings_trace(scope)):
            await self._observe(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _observe(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = headers_of(scope)
        with self._observer.request(scope["method"], scope["path"], headers) as record:

            async def noting_status(message: Message) -> None:
                if message["type"] == "http.response.start":
                    record.status = message["status"]
                await send(message)

            await self._app(scope, receive, noting_status)


def _brings_trace(scope: Scope) -> bool:
    return IS_INSTALLED and "traceparent" in headers_of(scope)


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
        mark_failed(span)
    for name, value in record.fields().items():
        span.set_attribute("error.type" if name == "error" else f"a2a.{name}", value)
