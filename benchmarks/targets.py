"""The performance targets of this project, and the figures that show whether they are met."""

from __future__ import annotations

import operator
from collections.abc import Callable
from statistics import median
from typing import NamedTuple, TypeAlias

Figures: TypeAlias = dict[tuple[str, str], list[float]]
"""Measurements of all rounds, by (measure, server)."""

Figure: TypeAlias = Callable[[Figures], float]


class Goal(NamedTuple):
    """The bound for a figure."""

    words: str
    is_met: Callable[[float, float], bool]
    value: float
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.words} {self.value:,g} {self.unit}".rstrip()

    def shown(self, figure: float) -> str:
        """Format a figure with its unit."""
        is_count = float(figure).is_integer()
        digits = 0 if is_count or figure >= 100 else 1 if figure >= 10 else 2
        return f"{figure:,.{digits}f} {self.unit}".rstrip()


class Target(NamedTuple):
    """A performance target."""

    text: str
    figure: Figure
    goal: Goal


def at_least(value: float, unit: str = "") -> Goal:
    return Goal("at least", operator.ge, value, unit)


def at_most(value: float, unit: str = "") -> Goal:
    return Goal("at most", operator.le, value, unit)


def under(value: float, unit: str = "") -> Goal:
    return Goal("under", operator.lt, value, unit)


def ratio(figures: Figures, measure: str, one: str, other: str) -> float:
    """Return the median of one/other, round by round."""
    pairs = zip(figures[measure, one], figures[measure, other], strict=True)
    return median(a / b for a, b in pairs)


def times(measure: str, other: str, one: str = "ours") -> Figure:
    return lambda figures: ratio(figures, measure, one, other)


def stored(measure: str, name: str) -> Figure:
    return times(f"stored {measure}", "memory", name)


def own(measure: str, name: str = "ours") -> Figure:
    return lambda figures: median(figures[measure, name])


def added(one: tuple[str, str], other: tuple[str, str]) -> Figure:
    return lambda figures: median(a - b for a, b in zip(figures[one], figures[other], strict=True))


FIRST_TOKEN = added(("first", "ours"), ("first", "starlette"))
SDK_STORE = times("stored send", "sdk on postgresql", "postgresql")
CREW = added(("served crew", "ours"), ("crew", "ours"))

TARGETS = [
    # Many conversations at once
    Target("1,000 streams, said to read, p99", own("1000 p99", "serve"), under(50, "ms")),
    Target("1,000 streams, first token, p99", own("1000 first", "serve"), under(100, "ms")),
    Target("1,000 streams, CPU per token", own("1000 CPU", "serve"), at_most(12, "us")),
    # Serving
    Target("`SendMessage`/s, x SDK", times("send", "sdk"), at_least(6)),
    Target("Stream events/s, x SDK", times("stream", "sdk"), at_least(6)),
    Target("with bearer tokens, x SDK", times("stream", "sdk", "tokens"), at_least(6)),
    Target("Stream events/s, x bare", times("stream", "starlette"), at_least(0.86)),
    Target("First token, added to bare", FIRST_TOKEN, at_most(0.15, "ms")),
    # Bindings, per second of the server's CPU time
    Target("HTTP+JSON, x JSON-RPC", times("binding", "JSON-RPC", "HTTP+JSON"), at_least(0.9)),
    Target("gRPC, `SendMessage`/s, x SDK", times("grpc send", "sdk"), at_least(4)),
    Target("gRPC, stream events/s, x SDK", times("grpc stream", "sdk"), at_least(4)),
    # Storages
    Target("SQLite, `SendMessage`/s, x memory", stored("send", "sqlite"), at_least(0.5)),
    Target("PostgreSQL, `SendMessage`/s, x memory", stored("send", "postgresql"), at_least(0.25)),
    Target("PostgreSQL, `SendMessage`/s, x SDK's store", SDK_STORE, at_least(5)),
    Target("SQLite, stream events/s, x memory", stored("stream", "sqlite"), at_least(0.8)),
    Target("PostgreSQL, stream events/s, x memory", stored("stream", "postgresql"), at_least(0.8)),
    Target("SQLite, statements of 1,000 tokens", own("statements", "sqlite"), at_most(20)),
    Target("PostgreSQL, statements of 1,000 tokens", own("statements", "postgresql"), at_most(20)),
    Target(
        "SQLite, messages with push configs, x without",
        own("pushed x plain", "sqlite"),
        at_least(0.8),
    ),
    Target(
        "PostgreSQL, messages with push configs, x without",
        own("pushed x plain", "postgresql"),
        at_least(0.8),
    ),
    # Calling
    Target("`A2AChatModel.ainvoke`, added to a post", own("added to a call"), at_most(0.5, "ms")),
    Target("`A2AChatModel.astream`, chunks/s", own("called chunks"), at_least(25_000)),
    Target("1,000 calls of a `RemoteAgent` at once, connections", own("connections"), under(1000)),
    # Frameworks
    Target("LangChain, 8 runs that block for 200 ms", own("blocking"), under(450, "ms")),
    Target("AutoGen agent, added to `run_stream`", own("autogen agent"), under(2, "ms")),
    Target("AutoGen team of two, added to `run_stream`", own("autogen team"), under(3, "ms")),
    Target("Crew, added to `crew.copy().akickoff()`", CREW, under(10, "ms")),
    Target("8 crews with a model that takes 200 ms", own("slow crews"), under(600, "ms")),
    Target("Tool of an MCP server, added over A2A", own("tool over A2A"), under(5, "ms")),
    Target("Agent as a tool over MCP, added over A2A", own("agent over MCP"), under(5, "ms")),
    # Sizes
    Target("Memory of a finished task", own("memory"), at_most(1.5, "KiB")),
    Target("Process with 10,000 open streams", own("open streams", "roomy"), under(600, "MB")),
    Target("Memory of each of these streams", own("open stream", "roomy"), under(25, "KB")),
    Target("Memory of a task that waits for an answer", own("question"), under(10, "KiB")),
    Target("4,000 results in one task", own("outputs"), under(0.4, "s")),
    # Starts
    Target("Processor time of a start, x a2a-sdk's", times("start", "sdk", "serve"), under(1)),
    Target("Memory of a new server, x a2a-sdk's", times("fresh", "sdk", "serve"), under(1)),
    Target("`import a2a_adapters`", own("import"), under(0.1, "s")),
    Target("`RemoteAgent`'s import, x `a2a.client`'s", times("client import", "sdk"), under(1.5)),
    Target("`a2a-adapters --help`", own("help"), under(0.6, "s")),
    Target("Script that serves a function, to its first answer", own("serve"), at_most(1, "s")),
    Target("`RemoteAgent`'s import and first answer", own("first use"), under(0.6, "s")),
]
