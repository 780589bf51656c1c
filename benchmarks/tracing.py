"""Measures what traces cost: `python tracing.py`.

An agent that calls another agent is asked alternately with and without a tracer provider, whose
spans are exported in batches to nowhere. Prints the CPU time of a call with traces by that of one
without, for an agent that answers with one text and one that streams an answer of 500 chunks, and
the cost of a call in microseconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from statistics import median

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from a2a_adapters import RemoteAgent, TextDelta, build_app
from a2a_adapters.testing import running

ROUNDS, CALLS, WARM_UP_CALLS = 31, 100, 100
CHUNKS = 500


class Nowhere(SpanExporter):
    """Drops spans."""

    def export(self, spans) -> SpanExportResult:  # noqa: ARG002 - the interface has it
        return SpanExportResult.SUCCESS


async def echo(text: str) -> str:
    """Repeat the text."""
    return text


async def speaker(text: str) -> AsyncIterator[str]:
    """Stream an answer."""
    for number in range(CHUNKS):
        yield f"{text} {number} "


async def main() -> None:
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    for target, calls in ((echo, CALLS), (speaker, CALLS // 10)):
        async with (
            running(build_app(target)) as inner,
            RemoteAgent(inner) as remote,
            running(build_app(asking(remote))) as url,
            RemoteAgent(url) as agent,
        ):
            await measure(agent, WARM_UP_CALLS)
            plain, traced = [], []
            for _ in range(ROUNDS):  # alternately, because the speed of the machine varies
                set_provider(None)
                plain.append(await measure(agent, calls))
                set_provider(provider)
                traced.append(await measure(agent, calls))
        ratio = median(b / a for a, b in zip(plain, traced, strict=True))
        cost = median(b - a for a, b in zip(plain, traced, strict=True))
        print(f"{target.__name__}: {ratio:.3f}, {cost * 1e6:.0f} of {median(plain) * 1e6:.0f} us")
    provider.shutdown()


def asking(remote: RemoteAgent):
    """Return an agent that passes on the answer of another one."""

    async def outer(text: str) -> AsyncIterator[str]:
        """Ask another agent."""
        async for event in remote.stream(text):
            if isinstance(event, TextDelta):
                yield event.text

    return outer


def set_provider(provider: TracerProvider | None) -> None:
    """Set or remove the provider, which the API lets a process set only once."""
    trace._TRACER_PROVIDER = provider  # noqa: SLF001


async def measure(agent: RemoteAgent, calls: int) -> float:
    """Return the CPU time of a call, including both servers, in seconds."""
    began = time.process_time()
    for _ in range(calls):
        await agent.send("hello")
    return (time.process_time() - began) / calls


if __name__ == "__main__":
    asyncio.run(main())
