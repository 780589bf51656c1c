"""Compares agents and bindings with a2a-sdk's handler, by the number of connections.

`python concurrency.py FILE` draws only this plot.
"""

from __future__ import annotations

import contextlib
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import load
import plot
import uvloop
from bindings import grpc_rate, running
from processes import interpreter, start
from targets import ratio

if TYPE_CHECKING:
    from targets import Figures

CONNECTIONS = (1, 4, 16, 64, 256)
CALLS, EVENTS = 500, 6400
"""Messages per number of connections: about a second of work for a2a-sdk's handler."""
LINES = {
    "echo, JSON-RPC": "echo",
    "echo, HTTP+JSON": "rest",
    "echo, gRPC": "grpc",
    "stream, JSON-RPC": "stream",
}
"""The measure of each line."""


def concurrency(figures: Figures, rounds: int) -> None:
    """Measure all servers in interleaved rounds."""
    with contextlib.ExitStack() as stack:
        ports = {
            (name, agent): stack.enter_context(start(name, agent)).port
            for name in ("ours", "sdk")
            for agent in ("echo", "stream")
        }
        for _ in range(rounds):
            for count in CONNECTIONS:
                for (name, agent), port in ports.items():
                    figures[f"{agent} {count}", name].append(http(port, agent, count))
                # The SDK is measured over JSON-RPC, its fastest binding.
                port = ports["ours", "echo"]
                figures[f"rest {count}", "ours"].append(http(port, "rest", count))
                figures[f"rest {count}", "sdk"].append(figures[f"echo {count}", "sdk"][-1])
    if interpreter("grpc"):
        with running("ours", "echo") as ours, running("sdk", "echo") as sdk:
            for _ in range(rounds):
                for count in CONNECTIONS:
                    for name, server in {"ours": ours, "sdk": sdk}.items():
                        rate = grpc_rate(server, "echo", 1, count)
                        figures[f"grpc {count}", name].append(rate)


def http(port: int, agent: str, connections: int) -> float:
    """Return the number of answered calls, or received events, per second."""
    if agent == "stream":
        chunks = EVENTS // connections
        return uvloop.run(load.stream_rate(port, connections, chunks))
    calls, path = max(CALLS, connections), "/message:send" if agent == "rest" else "/"
    return calls / uvloop.run(load.send(port, calls, connections, load.COMPLETED, path=path))


def drawn(figures: Figures) -> str:
    """Return the plot, as SVG."""
    lines = {
        title: [ratio(figures, f"{measure} {count}", "ours", "sdk") for count in CONNECTIONS]
        for title, measure in LINES.items()
        if figures[f"{measure} {CONNECTIONS[0]}", "sdk"]
    }
    return plot.svg("Times as fast as a2a-sdk", "connections at once", CONNECTIONS, lines)


def main() -> None:
    figures: Figures = defaultdict(list)
    concurrency(figures, rounds=2)
    Path(sys.argv[1]).write_text(drawn(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
