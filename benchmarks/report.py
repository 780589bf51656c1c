"""The figures as Markdown, with a description of the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeAlias

from processes import PEERS, SAME, installed_version

Figures: TypeAlias = dict[tuple[str, str], list[float]]
"""All rounds of a measure of a server, by (measure, server)."""

LABELS = {
    "ours": "**a2a-adapters**",
    "tokens": "**a2a-adapters** with bearer tokens",
    "sdk": "a2a-sdk, `DefaultRequestHandler`",
    "a2a-adapter": "a2a-adapter",
    "fasta2a": "fasta2a ¹",
    "starlette": "bare Starlette ²",
}

STORAGES = {
    "memory": "memory",
    "sqlite": "SQLite",
    "postgresql": "PostgreSQL",
    "sdk on postgresql": "a2a-sdk's `VersionedDatabaseTaskStore`, PostgreSQL",
}

INTRODUCTION = """\
# Benchmarks

Made by `python benchmarks/run.py`: every server a process of its own, on loopback, with the
same uvicorn settings and the same agent; rounds interleaved between servers; medians of rounds.
A ratio is the median of the ratios within each round.
"""

NOTES = """\
`SendMessage`/s: answers with the finished task, 16 connections, an agent that echoes.
Stream events/s: 16 streams of 1000 chunks at once. First token: from request to the first chunk,
one connection. Memory: growth of the process for each finished task it keeps.
Every server runs with its defaults. The SDK's OpenTelemetry wrappers are on; switched off by
`OTEL_INSTRUMENTATION_A2A_SDK_ENABLED=false`, its handler is about one and a half times as fast.
a2a-adapters sends the events that have queued up in one write, which counts when an agent is
faster than its client.

¹ fasta2a does not wait for the task: its answer says `submitted` (sometimes already
`completed`), and a client has to ask again for the result. Its answers count all the same.
² No A2A: parses the request and sends the JSON of a finished task, or of the same events.
It keeps nothing. This is about the most that Python's ASGI servers can do.
"""


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
        "`A2AChatModel.ainvoke`, added time over a bare httpx post of the same JSON, under 3 ms",
        lambda f: middle(f, "added to a call"),
        lambda v: v < 3,
        "{:.2f} ms",
    ),
    Target(
        "Chunks/s through `A2AChatModel.astream`, at least 2,000",
        lambda f: middle(f, "called chunks"),
        lambda v: v >= 2_000,
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
        "`import a2a_adapters`, under 0.25 s",
        lambda f: middle(f, "import"),
        lambda v: v < 0.25,
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
]


def render(figures: Figures, names: list[str]) -> str:
    """Return the whole page."""
    sections = [INTRODUCTION, _table(figures, names), NOTES, _storages(figures)]
    sections += [_targets(figures), machine(names)]
    return "\n".join(sections)


def _table(figures: Figures, names: list[str]) -> str:
    columns = ["`SendMessage`/s", "x SDK", "x bare", "stream events/s", "x SDK", "x bare"]
    columns += ["first token", "KiB per task"]
    lines = [f"| server | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    for name in names:
        cells = [LABELS[name]]
        for measure in ("send", "stream"):
            cells.append(f"{median(figures[measure, name]):,.0f}")
            cells += [_times(figures, measure, name, base) for base in ("sdk", "starlette")]
        cells.append(f"{median(figures['first', name]):.2f} ms")
        kept = figures["memory", name]
        cells.append(f"{median(kept):.1f}" if kept and name != "starlette" else "-")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _storages(figures: Figures) -> str:
    columns = ["`SendMessage`/s", "x memory", "stream events/s", "x memory"]
    columns.append("statements per stream of 1,000 tokens")
    lines = ["## Storages", "", f"| storage | {' | '.join(columns)} |"]
    lines.append(f"|---|{'---:|' * len(columns)}")
    for name, label in STORAGES.items():
        cells = [label]
        for measure in ("stored send", "stored stream"):
            found = figures[measure, name]
            cells.append(f"{median(found):,.0f}" if found else "-")
            cells.append(f"{ratio(figures, measure, name, 'memory'):.2f}" if found else "-")
        counted = figures["statements", name]
        cells.append(f"{median(counted):,.0f}" if counted else "-")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _times(figures: Figures, measure: str, name: str, base: str) -> str:
    return f"{ratio(figures, measure, name, base):.2f}" if figures[measure, base] else "-"


def _targets(figures: Figures) -> str:
    lines = ["## Targets", "", "| target | figure | met |", "|---|---:|---|"]
    for target in TARGETS:
        try:
            value = target.value(figures)
        except ValueError:  # a server was left out
            lines.append(f"| {target.text} | not measured | - |")
            continue
        met = "yes" if target.is_met(value) else "**no**"
        lines.append(f"| {target.text} | {target.show.format(value)} | {met} |")
    return "\n".join(lines) + "\n"


def machine(names: list[str]) -> str:
    """Return what was measured on."""
    versions = [f"{package} {version(package)}" for package in SAME]
    versions += [f"{name} {installed_version(name)}" for name in names if name in PEERS]
    lines = [
        "## Machine",
        "",
        f"{os.cpu_count()} cores, {_cpu()}, {platform.system()} {platform.machine()},",
        f"Python {platform.python_version()}; {', '.join(versions)}.",
    ]
    return "\n".join(lines) + "\n"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()
