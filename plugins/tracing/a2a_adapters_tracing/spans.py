"""Spans of OpenTelemetry, named by its conventions for generative AI.

Imported only in processes that use OpenTelemetry, or when a request belongs to a trace.
"""

from __future__ import annotations

import logging
import re
import time
from typing import TYPE_CHECKING

from opentelemetry import baggage, context, propagate, trace
from opentelemetry.trace import Link, SpanContext, SpanKind, StatusCode, TraceFlags

from a2a_adapters.contract.telemetry import ObservedRequest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextvars import Token

    from opentelemetry.trace import Span, Tracer, TracerProvider
    from opentelemetry.util.types import AttributeValue

    from a2a_adapters import TokenUsage
    from a2a_adapters.observability.requests import RequestRecord

logger = logging.getLogger(__name__)

_BAGGAGE_BYTES = 8_192
_BAGGAGE_ENTRIES = 64
"""What W3C Baggage requires to be propagated (section 3.3.2)."""

_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")

_INVOKES = frozenset({"SendMessage", "SendStreamingMessage"})


class Traces:
    """The spans of this process, for whatever tracer provider the application has set.

    Attributes:
        provider: Returns the tracer provider.
        current: Returns the current span.
        ignored: A provider that makes no spans.
    """

    provider = staticmethod(trace.get_tracer_provider)
    current = staticmethod(trace.get_current_span)

    def __init__(self) -> None:
        self.ignored: TracerProvider | None = None
        self._found: tuple[TracerProvider | None, Tracer | None] = (None, None)

    @property
    def tracer(self) -> Tracer | None:
        """The tracer; None if the application has set no tracer provider."""
        provider = trace.get_tracer_provider()
        known, tracer = self._found
        if provider is not known:
            is_set = not isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider)
            tracer = provider.get_tracer("a2a_adapters") if is_set else None
            self._found = provider, tracer
            self.ignored = None if is_set else provider
        return tracer

    def start_run(
        self, name: str, attributes: Mapping[str, AttributeValue], earlier: str
    ) -> OpenSpan | None:
        """Start the span of a run, or return None without a tracer.

        It links to the run with the `traceparent` in `earlier`, if any.
        """
        if (tracer := self.tracer) is None:
            return None
        other = _parsed(earlier)
        links = [Link(other)] if other is not None else []
        return OpenSpan(tracer.start_span(name, attributes=attributes, links=links))

    def start_call(self, name: str, attributes: Mapping[str, AttributeValue]) -> OpenSpan | None:
        """Start the span of a call, or return None without a tracer."""
        if (tracer := self.tracer) is None:
            return None
        return OpenSpan(tracer.start_span(name, kind=SpanKind.CLIENT, attributes=attributes))

    def traceparent(self) -> str:
        """Return the current trace and span as in the header `traceparent`, or ""."""
        return _written(trace.get_current_span().get_span_context())

    def trace_id(self) -> str:
        """Return the id of the current trace, or ""."""
        current = trace.get_current_span().get_span_context()
        return trace.format_trace_id(current.trace_id) if current.is_valid else ""

    def headers(self) -> dict[str, str]:
        """Return the headers that continue the current trace, with its baggage."""
        headers: dict[str, str] = {}
        if current := context.get_current():
            propagate.inject(headers, current)
        return headers


class TracedRequest(ObservedRequest):
    """A request in its trace: the caller's if the caller is trusted, or else one of its own.

    Tasks and threads that are started after the decision inherit it, as the framework's run does.
    """

    def __init__(
        self,
        traces: Traces,
        verb: str,
        path: str,
        headers: Mapping[str, str],
        record: RequestRecord,
    ) -> None:
        self._traces = traces
        self._verb = verb
        self._path = path
        self._headers = headers
        self._record = record
        self._began_at = time.time_ns()
        self._span: Span | None = None
        self._token: Token[context.Context] | None = None

    def decide(self, *, is_trusted: bool) -> None:
        """Continue the trace that the headers name, or begin another one that links to it."""
        if self._token is not None:
            return
        inside = context.get_current()
        extracted = propagate.extract(self._headers, inside)
        links: list[Link] = []
        if is_trusted:
            inside = _bounded(extracted, self._headers)
        elif (theirs := trace.get_current_span(extracted).get_span_context()).is_remote:
            links.append(Link(theirs))
        if (tracer := self._traces.tracer) is not None:
            self._span = tracer.start_span(
                "A2A", inside, SpanKind.SERVER, links=links, start_time=self._began_at
            )
            inside = trace.set_span_in_context(self._span, inside)
        self._token = context.attach(inside)

    def __exit__(self, *error: object) -> None:
        if self._span is not None:
            _describe(self._span, self._verb, self._path, self._record)
            self._span.end()
        if self._token is not None:
            context.detach(self._token)


def _bounded(extracted: context.Context, headers: Mapping[str, str]) -> context.Context:
    """Return a caller's context, without baggage that is larger than W3C Baggage requires."""
    is_small = len(headers.get("baggage", "")) <= _BAGGAGE_BYTES
    if is_small and len(baggage.get_all(extracted)) <= _BAGGAGE_ENTRIES:
        return extracted
    logger.warning("a caller's baggage was dropped: it has over 64 entries or 8,192 bytes")
    return baggage.clear(extracted)


class OpenSpan:
    """A span that is current while it is entered."""

    __slots__ = ("_context", "_span", "_tokens")

    def __init__(self, span: Span) -> None:
        self._span = span
        self._context = trace.set_span_in_context(span)
        self._tokens: list[Token[context.Context]] = []

    def __enter__(self) -> None:
        self._tokens.append(context.attach(self._context))

    def __exit__(self, kind: object = None, *_: object) -> None:
        token = self._tokens.pop()
        if kind is not GeneratorExit:  # otherwise the code may be closed in another context
            context.detach(token)

    @property
    def traceparent(self) -> str:
        """The span as in the header `traceparent`."""
        return _written(self._span.get_span_context())

    def describe(self, attributes: Mapping[str, AttributeValue]) -> None:
        """Set attributes."""
        self._span.set_attributes(attributes)

    def count(self, usage: TokenUsage | None) -> None:
        """Set the attributes for tokens."""
        if usage is not None and self._span.is_recording():
            self._span.set_attribute("gen_ai.usage.input_tokens", usage.input_tokens)
            self._span.set_attribute("gen_ai.usage.output_tokens", usage.output_tokens)

    def link(self, traceparent: str) -> None:
        """Link to work of another trace."""
        other = _parsed(traceparent)
        if other is not None and other.trace_id != self._span.get_span_context().trace_id:
            self._span.add_link(other)

    def end(self, error: BaseException | None) -> None:
        """End the span; a reader that leaves early is not an error."""
        if error is not None and not isinstance(error, GeneratorExit):
            self._span.set_attribute("error.type", type(error).__name__)
            self._span.set_status(StatusCode.ERROR)
        self._span.end()


def _describe(span: Span, verb: str, path: str, record: RequestRecord) -> None:
    """Set the attributes of a request's span at its end."""
    span.update_name(record.operation or verb)
    if isinstance(record.status, int):
        attributes: dict[str, AttributeValue] = {
            "http.request.method": verb,
            "url.path": path,
            "http.response.status_code": record.status,
        }
    else:
        attributes = {
            "rpc.system": verb.lower(),
            "rpc.method": path,
            "rpc.response.status_code": record.status,
        }
    if record.error == "InternalError":
        span.set_status(StatusCode.ERROR)
    if record.operation in _INVOKES:
        attributes["gen_ai.operation.name"] = "invoke_agent"
    if record.context_id:
        attributes["gen_ai.conversation.id"] = record.context_id
    for name, value in record.fields().items():
        attributes["error.type" if name == "error" else f"a2a.{name}"] = value
    span.set_attributes(attributes)


def _written(span: SpanContext) -> str:
    if not span.is_valid:
        return ""
    trace_id, span_id = trace.format_trace_id(span.trace_id), trace.format_span_id(span.span_id)
    return f"00-{trace_id}-{span_id}-{span.trace_flags:02x}"


def _parsed(traceparent: str) -> SpanContext | None:
    if not (found := _TRACEPARENT.fullmatch(traceparent)):
        return None
    trace_id, span_id, flags = (int(each, 16) for each in found.groups())
    parsed = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(flags))
    return parsed if parsed.is_valid else None
