"""Compares the bindings: `python bindings.py` prints only their figures.

HTTP+JSON is compared with JSON-RPC, and gRPC with that of a2a-sdk's handler, by the server's CPU
time, because a gRPC client takes as much CPU time as the server.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import load
import uvloop
from processes import Process, free_port, interpreter, python, start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from report import Figures

CALLS_PER_ROUND, CONNECTIONS = 3000, 16
PATHS = {"JSON-RPC": "/", "HTTP+JSON": "/message:send"}
CALLS = Path(__file__).with_name("grpc_calls.py")
SERVERS = {"ours": "grpc", "sdk": "sdk-grpc"}
AGENTS = {"echo": "grpc send", "stream": "grpc stream"}
"""The measurements of each agent."""


def bindings(figures: Figures, rounds: int, seconds: float) -> None:
    """Measure all bindings in interleaved rounds."""
    with start("ours", "echo") as server:
        for _ in range(rounds):
            for binding, path in PATHS.items():
                figures["binding", binding].append(http_rate(server, path))
    if not interpreter("grpc"):
        print("not measured: gRPC; `make tests` installs it", file=sys.stderr)
        return
    with contextlib.ExitStack() as stack:
        servers = {
            (name, agent): stack.enter_context(running(name, agent))
            for name in SERVERS
            for agent in AGENTS
        }
        for _ in range(rounds):
            for (name, agent), server in servers.items():
                figures[AGENTS[agent], name].append(grpc_rate(server, agent, seconds))


@contextlib.contextmanager
def running(name: str, agent: str) -> Iterator[tuple[Process, int]]:
    """Run an agent on a server; yield the server and its gRPC port."""
    port = free_port()
    with start(SERVERS[name], agent, GRPC_PORT=str(port)) as process:
        yield process, port


def http_rate(server: Process, path: str) -> float:
    """Return the number of calls answered per second of CPU time."""
    before = server.processor_seconds()
    port, expected = server.port, load.COMPLETED
    uvloop.run(load.send(port, CALLS_PER_ROUND, CONNECTIONS, expected, path=path))
    return CALLS_PER_ROUND / (server.processor_seconds() - before)


def grpc_rate(
    server: tuple[Process, int], agent: str, seconds: float, callers: int = CONNECTIONS
) -> float:
    """Return the work of a server per second of its CPU time."""
    process, port = server
    before = process.processor_seconds()
    arguments = agent, str(port), str(seconds), str(callers)
    printed = python(CALLS, *arguments, executable=interpreter("grpc"))
    return float(printed) / (process.processor_seconds() - before)


def main() -> None:
    figures: Figures = defaultdict(list)
    bindings(figures, rounds=3, seconds=2)
    print(json.dumps({" of ".join(figure): median(values) for figure, values in figures.items()}))


if __name__ == "__main__":
    main()
