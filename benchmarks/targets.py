"""What we want of ourselves, by the figures that tell whether it is so."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import NamedTuple, TypeAlias

Figures: TypeAlias = dict[tuple[str, str], list[float]]
"""All rounds of a measure of a server, by (measure, server)."""


class Target(NamedTuple):
    """What we want of ourselves."""

    text: str
    value: Callable[[Figures], float]
    is_met: Callable[[float], bool]
    show: str


def ratio(figures: Figures, measure: str, one: str, other: str) -> float:
    """Return the median of one/other, round by round."""
    pairs = zip(figures[measure, one], figures[measure, other], strict=True)
    return median(a / b for a, b in pairs)


def added(figures: Figures) -> float:
    pairs = zip(figures["first", "ours"], figures["first", "starlette"], strict=True)
    return median(a - b for a, b in pairs)


def added_to_crews(figures: Figures) -> float:
    pairs = zip(figures["served crew", "ours"], figures["crew", "ours"], strict=True)
    return median(a - b for a, b in pairs)


def beside_memory(measure: str, name: str) -> Callable[[Figures], float]:
    return lambda figures: ratio(figures, f"stored {measure}", name, "memory")


def middle(figures: Figures, measure: str) -> float:
    return median(figures[measure, "ours"])


TARGETS = [
    Target(
        "`SendMessage`/s, at least 8 times `DefaultRequestHandler`",
        lambda f: ratio(f, "send", "ours", "sdk"),
        lambda v: v >= 8,
        "{:.1f} times",
    ),
    Target(
        "The same when callers are asked for bearer tokens",
        lambda f: ratio(f, "send", "tokens", "sdk"),
        lambda v: v >= 8,
        "{:.1f} times",
    ),
    Target(
        "`SendMessage`/s with a completed task, more than fasta2a's with a submitted one",
        lambda f: ratio(f, "send", "ours", "fasta2a"),
        lambda v: v > 1,
        "{:.2f} times",
    ),
    Target(
        "`SendMessage`/s, at least a quarter of bare Starlette",
        lambda f: ratio(f, "send", "ours", "starlette"),
        lambda v: v >= 0.25,
        "{:.2f} times",
    ),
    Target(
        "Stream events/s, at least 6 times `DefaultRequestHandler`",
        lambda f: ratio(f, "stream", "ours", "sdk"),
        lambda v: v >= 6,
        "{:.1f} times",
    ),
    Target(
        "The same when callers are asked for bearer tokens",
        lambda f: ratio(f, "stream", "tokens", "sdk"),
        lambda v: v >= 6,
        "{:.1f} times",
    ),
    Target("Added time to the first token, under 2 ms", added, lambda v: v < 2, "{:.2f} ms"),
    Target(
        "8 concurrent runs of a LangChain runnable that blocks for 200 ms, under 450 ms",
        lambda f: middle(f, "blocking"),
        lambda v: v < 450,
        "{:.0f} ms",
    ),
    Target(
        "Added time per run of an AutoGen agent over `run_stream` itself, under 2 ms",
        lambda f: middle(f, "autogen agent"),
        lambda v: v < 2,
        "{:.2f} ms",
    ),
    Target(
        "Added time per run of an AutoGen team of two, under 3 ms",
        lambda f: middle(f, "autogen team"),
        lambda v: v < 3,
        "{:.2f} ms",
    ),
    Target(
        "`A2AChatModel.ainvoke`, added time over a bare httpx post of the same JSON, under 0.5 ms",
        lambda f: middle(f, "added to a call"),
        lambda v: v < 0.5,
        "{:.2f} ms",
    ),
    Target(
        "Chunks/s through `A2AChatModel.astream`, at least 25,000",
        lambda f: middle(f, "called chunks"),
        lambda v: v >= 25_000,
        "{:,.0f}",
    ),
    Target(
        "A served crew beside `crew.copy().akickoff()`, added time per run under 10 ms",
        added_to_crews,
        lambda v: v < 10,
        "{:.1f} ms",
    ),
    Target(
        "8 crews at once with a model that takes 200 ms, under 600 ms",
        lambda f: middle(f, "slow crews"),
        lambda v: v < 600,
        "{:.0f} ms",
    ),
    Target(
        "A tool of an MCP server, added time of a call over A2A under 5 ms",
        lambda f: middle(f, "tool over A2A"),
        lambda v: v < 5,
        "{:.1f} ms",
    ),
    Target(
        "An agent as a tool over MCP, added time over A2A under 5 ms",
        lambda f: middle(f, "agent over MCP"),
        lambda v: v < 5,
        "{:.1f} ms",
    ),
    Target(
        "`SendMessage`/s on SQLite, at least half of memory's",
        beside_memory("send", "sqlite"),
        lambda v: v >= 0.5,
        "{:.2f} times",
    ),
    Target(
        "`SendMessage`/s on PostgreSQL, at least a quarter of memory's",
        beside_memory("send", "postgresql"),
        lambda v: v >= 0.25,
        "{:.2f} times",
    ),
    Target(
        "The same, at least 5 times `DefaultRequestHandler` with a2a-sdk's database store",
        lambda f: ratio(f, "stored send", "postgresql", "sdk on postgresql"),
        lambda v: v >= 5,
        "{:.1f} times",
    ),
    Target(
        "Stream events/s on SQLite, at least 80% of memory's",
        beside_memory("stream", "sqlite"),
        lambda v: v >= 0.8,
        "{:.2f} times",
    ),
    Target(
        "Stream events/s on PostgreSQL, at least 80% of memory's",
        beside_memory("stream", "postgresql"),
        lambda v: v >= 0.8,
        "{:.2f} times",
    ),
    Target(
        "Statements of a stream of 1,000 tokens on PostgreSQL, 20 at most",
        lambda f: median(f["statements", "postgresql"]),
        lambda v: v <= 20,
        "{:.0f}",
    ),
    Target(
        "Connections that 1,000 calls of one `RemoteAgent` at once make, under 1,000",
        lambda f: middle(f, "connections"),
        lambda v: v < 1000,
        "{:.0f}",
    ),
    Target(
        "HTTP+JSON, `SendMessage` per second of the server's processor, at least 90% of JSON-RPC's",
        lambda f: ratio(f, "binding", "HTTP+JSON", "JSON-RPC"),
        lambda v: v >= 0.9,
        "{:.2f} times",
    ),
    Target(
        "gRPC, `SendMessage` per second of the server's processor, at least 4 times a2a-sdk's",
        lambda f: ratio(f, "grpc send", "ours", "sdk"),
        lambda v: v >= 4,
        "{:.1f} times",
    ),
    Target(
        "gRPC, stream events per second of the server's processor, at least 4 times a2a-sdk's",
        lambda f: ratio(f, "grpc stream", "ours", "sdk"),
        lambda v: v >= 4,
        "{:.1f} times",
    ),
    Target(
        "Memory for each finished task, at most 1.5 KiB",
        lambda f: middle(f, "memory"),
        lambda v: v <= 1.5,
        "{:.1f} KiB",
    ),
    Target(
        "A process with 10,000 open streams, under 600 MB",
        lambda f: middle(f, "open streams"),
        lambda v: v < 600,
        "{:.0f} MB",
    ),
    Target(
        "Memory for each of these streams, under 60 KB",
        lambda f: middle(f, "open stream"),
        lambda v: v < 60,
        "{:.0f} KB",
    ),
    Target(
        "4,000 results in one task, under 0.4 s",
        lambda f: middle(f, "outputs"),
        lambda v: v < 0.4,
        "{:.2f} s",
    ),
    Target(
        "`import a2a_adapters`, under 0.1 s",
        lambda f: middle(f, "import"),
        lambda v: v < 0.1,
        "{:.2f} s",
    ),
    Target(
        "`from a2a_adapters import RemoteAgent`, under 1.5 times `import a2a.client`",
        lambda f: ratio(f, "client import", "ours", "sdk"),
        lambda v: v < 1.5,
        "{:.2f} times",
    ),
    Target(
        "`a2a-adapters --help`, under 0.6 s",
        lambda f: middle(f, "help"),
        lambda v: v < 0.6,
        "{:.2f} s",
    ),
    Target(
        "A script that serves a function answers, within 1 s of its start",
        lambda f: middle(f, "serve"),
        lambda v: v < 1,
        "{:.2f} s",
    ),
    Target(
        "First answer to a `RemoteAgent`, its import included, under 0.6 s",
        lambda f: middle(f, "first use"),
        lambda v: v < 0.6,
        "{:.2f} s",
    ),
]
