"""One log line and one span per request."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from a2a_adapters.observability.record import CURRENT, RequestRecord
from a2a_adapters.observability.tracing import brings_trace, find_tracer, request_span, trace_id

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger("a2a_adapters.requests")


class RequestObserver:
    """ASGI middleware: observes requests if they are logged or traced, else stands aside.

    Whether the application has set a tracer provider is looked up once, at the first request.

    Args:
        app: What answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._tracer: Tracer | None = None
        self._has_looked = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request (ASGI)."""
        if not self._has_looked:
            self._has_looked, self._tracer = True, find_tracer()
        if scope["type"] == "http" and (
            self._tracer or logger.isEnabledFor(logging.INFO) or brings_trace(scope)
        ):
            await self._observe(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _observe(self, scope: Scope, receive: Receive, send: Send) -> None:
        record = RequestRecord()
        token = CURRENT.set(record)

        async def noting_status(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
            await send(message)

        began_at = time.perf_counter()
        try:
            with request_span(self._tracer, scope) as span:
                try:
                    await self._app(scope, receive, noting_status)
                finally:
                    if span is not None:
                        _describe(span, record, scope)
                    _log(record, scope, time.perf_counter() - began_at)
        finally:
            CURRENT.reset(token)


def _log(record: RequestRecord, scope: Scope, seconds: float) -> None:
    milliseconds = round(seconds * 1000, 3)
    # A path is whatever a client sends: the message must stay one line.
    what = record.operation or ascii(scope["path"])
    fields = {
        "http_method": scope["method"],
        "path": scope["path"],
        "status": record.status,
        "duration_ms": milliseconds,
        "trace_id": trace_id(),
        **record.fields(),
    }
    logger.info(
        "%s %s %s in %s ms%s",
        scope["method"],
        what,
        record.status,
        milliseconds,
        f", task {record.task_id}" if record.task_id else "",
        extra={name: value for name, value in fields.items() if value != ""},
    )


def _describe(span: Span, record: RequestRecord, scope: Scope) -> None:
    """Fill in what is known at the end (OpenTelemetry's semantic conventions for HTTP)."""
    span.update_name(record.operation or scope["method"])
    span.set_attribute("http.request.method", scope["method"])
    span.set_attribute("url.path", scope["path"])
    span.set_attribute("http.response.status_code", record.status)
    for name, value in record.fields().items():
        span.set_attribute("error.type" if name == "error" else f"a2a.{name}", value)
