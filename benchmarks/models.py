"""Streams of agents that talk like a language model: `python benchmarks/models.py`.

Many streams at once, each with a token every 20 ms; their starts are spread over two seconds. The
clients read in processes of their own: the last column shows how busy the busiest one was, so that
it can be seen that they are not the limit. Every token holds the time at which it was said.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median
from tempfile import TemporaryFile

import plot
from processes import HERE, Process, interpreter, start
from report import MODEL_STREAMS, MODELS, Figures, models_table
from servers import SPREAD_SECONDS, TOKEN_SECONDS

TOKENS = 400
CLIENTS = 2
MOST = {"sdk": 300, "a2a-adapter": 300}
"""The number of streams beyond which a server would take minutes."""

_PROBE_SECONDS = 0.5


def models(
    figures: Figures, rounds: int, streams: Sequence[int] = MODEL_STREAMS, tokens: int = TOKENS
) -> None:
    """Measure all servers in interleaved rounds."""
    for _ in range(rounds):
        for count in streams:
            for name in MODELS:
                if count <= MOST.get(name, count) and interpreter(name):
                    with start(name, "talk") as server:
                        for measure, value in measured(server, count, tokens).items():
                            figures[f"{count} {measure}", name].append(value)


def drawn(figures: Figures) -> str:
    """Return the plot of the delays, as SVG."""
    lines = {}
    for name, label in MODELS.items():
        found = [figures[f"{count} p99", name] for count in MODEL_STREAMS]
        lines[label.strip("*")] = [median(delays) for delays in found if delays]
    lines = {label: delays for label, delays in lines.items() if delays}
    title = "Milliseconds from a token to its reader, 99th percentile"
    return plot.svg(title, "conversations at once", MODEL_STREAMS, lines, is_logarithmic=True)


def measured(
    server: Process,
    streams: int,
    tokens: int,
    *,
    api: str = "JSON-RPC",
    port: int = 0,
    python: str = sys.executable,
) -> dict[str, float]:
    """Let clients read `streams` streams over one of `talking.READERS`; return the figures."""
    before, began = server.processor_seconds(), time.monotonic()
    each = streams // CLIENTS
    command = [python, HERE / "talking.py", api, str(port or server.port), str(each), str(tokens)]
    probes = []
    with ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile()) for _ in range(CLIENTS)]
        clients = [subprocess.Popen(command, stdout=file) for file in files]
        while any(client.poll() is None for client in clients):
            time.sleep(_PROBE_SECONDS)
            if SPREAD_SECONDS < time.monotonic() - began < tokens * TOKEN_SECONDS:
                probes.append(probe(server.port))
        taken = server.processor_seconds() - before
        read = []
        for file in files:
            file.seek(0)
            read.append(json.load(file))
    delays = sorted(delay for one in read for delay in one["delays"])
    firsts = sorted(first for one in read for first in one["firsts"])
    if len(delays) != each * CLIENTS * tokens:
        raise RuntimeError(f"{len(delays)} tokens of {each * CLIENTS} streams of {tokens}")
    return {
        "p50": delays[len(delays) // 2] * 1e3,
        "p99": delays[len(delays) * 99 // 100] * 1e3,
        "first": firsts[len(firsts) * 99 // 100] * 1e3,
        "livez": max(probes, default=0) * 1e3,
        "CPU": taken / len(delays) * 1e6,
        "client": max(one["seconds"] / one["lasted"] for one in read) * 100,
        "client CPU": sum(one["seconds"] for one in read) / len(delays) * 1e6,
    }


def probe(port: int) -> float:
    """Return how long a health check takes on a new connection."""
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", "/livez")
    connection.getresponse().read()
    connection.close()
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=TOKENS)
    parser.add_argument("--streams", type=int, nargs="+", default=MODEL_STREAMS)
    options = parser.parse_args()
    figures: Figures = defaultdict(list)
    models(figures, options.rounds, options.streams, options.tokens)
    print(models_table(figures, options.streams))


if __name__ == "__main__":
    main()
