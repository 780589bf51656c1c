"""A user's call through two agents as one trace.

    pip install 'a2a-adapters[jwt,oauth]' opentelemetry-sdk
    python examples/on_behalf_of/one_trace.py

The agents are those of two_users.py. Each call sends the W3C headers of its span, and the server
continues the traces of authenticated callers; no code of the agents is about traces. Here the spans
are kept in memory: with an exporter of OpenTelemetry they go to Jaeger, Langfuse or any other
collector.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from login import Login
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from two_users import EXPECTED, day, served, token_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opentelemetry.sdk.trace import ReadableSpan


async def main() -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    login = Login()
    async with served(login) as (planner, _):
        with trace.get_tracer("example").start_as_current_span("the morning of ann"):
            assert await day(planner, token_of(login, "ann")) == EXPECTED["ann"]
    found = spans.get_finished_spans()
    [root] = [span for span in found if span.name == "the morning of ann"]
    tree = [*lines(root, found)]
    print(*tree, sep="\n")
    agents = ["planner (client)", "planner (internal)", "calendar (client)", "calendar (internal)"]
    called = [line.strip() for line in tree if "invoke_agent" in line]
    assert called == [f"invoke_agent {agent}" for agent in agents]


def lines(span: ReadableSpan, spans: Sequence[ReadableSpan], depth: int = 0) -> Iterator[str]:
    """Yield a span and those inside it, each as a line."""
    yield f"{'  ' * depth}{span.name} ({span.kind.name.lower()})"
    inner = [each for each in spans if each.parent and each.parent.span_id == span.context.span_id]
    for each in sorted(inner, key=lambda each: each.start_time or 0):
        yield from lines(each, spans, depth + 1)


if __name__ == "__main__":
    asyncio.run(main())
