"""Formats the figures as Markdown, with a description of the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import NamedTuple

from processes import PEERS, SAME, installed_version
from targets import TARGETS, Figures, ratio

LABELS = {
    "ours": "**a2a-adapters**",
    "tokens": "**a2a-adapters** with bearer tokens",
    "sdk": "a2a-sdk, `DefaultRequestHandler`",
    "a2a-adapter": "a2a-adapter",
    "fasta2a": "fasta2a ¹",
    "starlette": "bare Starlette ²",
}

MODELS = {
    "serve": "**a2a-adapters**",
    "sdk": "a2a-sdk",
    "a2a-adapter": "a2a-adapter",
}
"""The servers under the load of models. fasta2a is not: it runs one task after the other."""

MODEL_STREAMS = (100, 300, 600, 1000)


class Conversations(NamedTuple):
    """A row of the table of the same conversations over every API."""

    label: str
    server: str
    api: str
    streams: int


CONVERSATIONS = (
    Conversations("A2A, JSON-RPC", "every API", "JSON-RPC", 300),
    Conversations("A2A, HTTP+JSON", "every API", "HTTP+JSON", 300),
    Conversations("OpenAI, Chat Completions", "every API", "Chat Completions", 300),
    Conversations("OpenAI, Responses", "every API", "Responses", 300),
    Conversations("AG-UI", "every API", "AG-UI", 300),
    Conversations("A2A, gRPC", "every API", "gRPC", 100),
    Conversations("A2A, gRPC, a2a-sdk's server", "sdk-grpc", "gRPC", 100),
    Conversations("two processes, PostgreSQL", "two processes", "JSON-RPC", 1000),
    Conversations("read by `RemoteAgent`", "every API", "RemoteAgent", 100),
    Conversations("read by a2a-sdk's client", "every API", "a2a-sdk's client", 100),
)

CONVERSATIONS_NOTE = """\
### Over every API

The same conversations, with 200 tokens each, at servers with their defaults. With gRPC and with the
clients of the last rows, reading takes more time than serving, so they read 100 streams. The two
processes share two cores with PostgreSQL and the clients.
"""

MODELS_NOTE = """\
## Many conversations at once

Streams of an agent that says a token every 20 ms like a language model, 400 tokens each, at one
server process on one core; their starts are spread over two seconds. A server that is late by
seconds with 300 streams is not measured with more.

![The delay of a token, by the number of streams](benchmarks-streams.svg)
"""

MODELS_COLUMNS = """\
- Said to read: time from the agent's token to its arrival at the client, which users feel.
- First token: time from connecting to the first token.
- Slowest `/livez`: a health check on a new connection, twice a second while all streams run.
- Busiest client: the busier of the two processes with clients, which are not the bottleneck.

fasta2a is not in the table: it runs one task after the other, so that the last of 100 such streams
would begin after a quarter of an hour.
"""

STORAGES = {
    "memory": "memory",
    "sqlite": "SQLite",
    "postgresql": "PostgreSQL",
    "sdk on postgresql": "a2a-sdk's `VersionedDatabaseTaskStore`, PostgreSQL",
}

STORED_TOKENS = "Tokens are those of 300 conversations at once, as in the first table."

INTRODUCTION = """\
# Benchmarks

Measured by `make bench`. Each server runs in a separate process, on loopback, with the same uvicorn
settings and the same agent. The rounds alternate between the servers; the figures are medians of
the rounds, the ratios medians of the ratios in each round.
"""

STARTS = """\
## Start and idle cost
"""

MESSAGES = """\
## Messages and events
"""

NOTES = """\
- `SendMessage`/s: blocking calls of an echo agent, 16 connections. p99 at 80%: the 99th percentile
  of the response time at 80% of that rate, with calls at a constant pace.
- Stream events/s: 16 concurrent streams of 1,000 chunks.
- First token: time from the request to the first chunk, one connection.
- KiB per task: growth of the process for each finished task that it keeps.

All servers use their defaults. The SDK's OpenTelemetry wrappers are on; without them
(`OTEL_INSTRUMENTATION_A2A_SDK_ENABLED=false`), its handler is about 1.5 times as fast.
a2a-adapters sends all queued events in one write, which helps if the agent is faster than the
client.

¹ fasta2a does not wait for the task: its answer says `submitted` (sometimes `completed`), and a
client has to ask again for the result. These answers are counted nevertheless.
² No A2A: parses the request and sends the JSON of a finished task, or of the same events, without
storing anything. This is close to the maximum of Python's ASGI servers.
"""


CONCURRENCY = """\
## Agents, bindings and connections

![Throughput relative to a2a-sdk, by the number of connections](benchmarks.svg)

The throughput of an agent relative to the same agent behind a2a-sdk's handler for JSON-RPC (for
gRPC: its handler for gRPC), per second of the server's CPU time.
"""


TARGETS_NOTE = """\
"x SDK" is the ratio to a2a-sdk's `DefaultRequestHandler`, with its own database store where noted;
"x bare" is the ratio to bare Starlette, "x fasta2a" to fasta2a, which does not wait for the task.
Bindings are compared per second of the server's CPU time. "Added" is the time beyond that of the
framework or the other server alone. [How it works](how-it-works.md#cpu-time-of-a-token) says where
the time of a token, a message and a start goes.
"""


def render(figures: Figures, names: list[str]) -> str:
    """Return the whole page."""
    sections = [INTRODUCTION, MODELS_NOTE, models_table(figures), MODELS_COLUMNS]
    sections += [CONVERSATIONS_NOTE, conversations_table(figures)]
    sections += [STARTS, _starts(figures), MESSAGES]
    sections += [
        _table(figures, names),
        NOTES,
        CONCURRENCY,
        _storages(figures),
        _targets(figures),
        machine(names),
    ]
    return "\n".join(sections)


def _table(figures: Figures, names: list[str]) -> str:
    columns = ["`SendMessage`/s", "x SDK", "x bare", "p99 at 80%"]
    columns += ["stream events/s", "x SDK", "x bare", "first token", "KiB per task"]
    lines = [f"| server | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    for name in names:
        cells = [LABELS[name]]
        for measure in ("send", "stream"):
            cells.append(f"{median(figures[measure, name]):,.0f}")
            cells += [_times(figures, measure, name, base) for base in ("sdk", "starlette")]
            if measure == "send":
                slow = figures["p99", name]
                cells.append(f"{median(slow):.1f} ms" if slow else "-")
        cells.append(f"{median(figures['first', name]):.2f} ms")
        kept = figures["memory", name]
        cells.append(f"{median(kept):.1f}" if kept and name != "starlette" else "-")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def models_table(figures: Figures, streams: Iterable[int] = MODEL_STREAMS) -> str:
    """Return the table of streams that talk like models."""
    columns = ["said to read, p50", "p99", "first token, p99", "slowest `/livez`"]
    columns += ["CPU per token", "busiest client"]
    lines = [f"| streams | server | {' | '.join(columns)} |", f"|---:|---|{'---:|' * len(columns)}"]
    for count in streams:
        for name, label in MODELS.items():
            if figures[f"{count} p50", name]:
                measures = ("p50", "p99", "first", "livez", "CPU", "client")
                cells = [_late(figures, f"{count} {measure}", name) for measure in measures]
                lines.append(f"| {count} | {label} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def conversations_table(figures: Figures) -> str:
    """Return the table of the same streams over every API."""
    columns = ["said to read, p50", "p99", "first token, p99"]
    columns += ["server's CPU per token", "client's CPU per token"]
    lines = [f"| | streams | {' | '.join(columns)} |", f"|---|---:|{'---:|' * len(columns)}"]
    for label, _, _, streams in CONVERSATIONS:
        measures = ("p50", "p99", "first", "CPU", "client CPU")
        cells = [_late(figures, f"talk {measure}", label) for measure in measures]
        lines.append(f"| {label} | {streams} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _late(figures: Figures, measure: str, name: str) -> str:
    """Return a figure of streams that talk, with its unit."""
    if not (values := figures[measure, name]):
        return "-"
    unit = "us" if measure.endswith("CPU") else "% of a core" if "client" in measure else "ms"
    return f"{median(values):,.{int(median(values) < 100)}f} {unit}"


def _starts(figures: Figures) -> str:
    rows = {
        "`serve` of a function, processor time to its first answer": ("start", "s", 2),
        "memory of the server then": ("fresh", "MB", 0),
        "memory of a stream that waits for its next event": ("open stream", "KB", 1),
        "memory of a task in SQLite that waits for an answer": ("question", "KiB", 1),
    }
    lines = ["| | a2a-adapters | a2a-sdk | bare Starlette |", "|---|---:|---:|---:|"]
    for label, (measure, unit, digits) in rows.items():
        found = [
            next((figures[measure, name] for name in names if figures[measure, name]), [])
            for names in (("serve", "ours", "roomy"), ("sdk",), ("starlette",))
        ]
        cells = [f"{median(values):,.{digits}f} {unit}" if values else "-" for values in found]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _storages(figures: Figures) -> str:
    columns = ["`SendMessage`/s", "x memory", "stream events/s", "x memory"]
    columns += ["a token is late by, p50", "p99", "statements per stream of 1,000 tokens"]
    lines = ["## Storages", "", f"| storage | {' | '.join(columns)} |"]
    lines.append(f"|---|{'---:|' * len(columns)}")
    for name, label in STORAGES.items():
        cells = [label]
        for measure in ("stored send", "stored stream"):
            found = figures[measure, name]
            cells.append(f"{median(found):,.0f}" if found else "-")
            cells.append(f"{ratio(figures, measure, name, 'memory'):.2f}" if found else "-")
        for measure in ("stored p50", "stored p99"):
            late = figures[measure, name]
            cells.append(f"{median(late):.1f} ms" if late else "-")
        counted = figures["statements", name]
        cells.append(f"{median(counted):,.0f}" if counted else "-")
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "Tokens are those of 300 streams, as in [many conversations](#many-conversations-at-once).",
    ]
    return "\n".join(lines) + "\n"


def _times(figures: Figures, measure: str, name: str, base: str) -> str:
    return f"{ratio(figures, measure, name, base):.2f}" if figures[measure, base] else "-"


def _targets(figures: Figures) -> str:
    lines = [
        "## Targets",
        "",
        TARGETS_NOTE,
        "| target | goal | figure | met |",
        "|---|---|---:|---|",
    ]
    for text, figure, goal in TARGETS:
        try:
            value = figure(figures)
        except ValueError:  # a server was left out
            lines.append(f"| {text} | {goal} | not measured | - |")
            continue
        met = "yes" if goal.is_met(value, goal.value) else "**no**"
        lines.append(f"| {text} | {goal} | {goal.shown(value)} | {met} |")
    return "\n".join(lines) + "\n"


def machine(names: list[str]) -> str:
    """Return the description of the machine."""
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
