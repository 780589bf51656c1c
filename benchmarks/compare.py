"""Compares the processor time of this checkout with another's: `python compare.py CHECKOUT`.

Such as a worktree of an earlier commit. Rounds alternate between both, and the figures are
processor time, so that other work on the machine counts little.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import load
import models
import uvloop
from processes import HERE, Process, start

MESSAGES, CONNECTIONS = 4000, 16
STREAMS, CHUNKS = 16, 4000
TALKING, TOKENS = 300, 200


@contextlib.contextmanager
def served(checkout: Path, name: str, agent: str) -> Iterator[Process]:
    """Run a server with the packages of a checkout."""
    paths = [checkout, *(path for path in (checkout / "plugins").iterdir() if path.is_dir())]
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "STORAGE": f"sqlite:///{folder}/tasks.db",
        }
        with start(name, agent, **environment) as server:
            yield server


def message(checkout: Path, name: str) -> float:
    """Return the microseconds of a blocking `SendMessage`."""
    with served(checkout, name, "echo") as server:
        uvloop.run(load.send(server.port, MESSAGES // 10, CONNECTIONS, load.COMPLETED))
        before = server.processor_seconds()
        uvloop.run(load.send(server.port, MESSAGES, CONNECTIONS, load.COMPLETED))
        return (server.processor_seconds() - before) / MESSAGES * 1e6


def event(checkout: Path, name: str) -> float:
    """Return the microseconds of an event of a fast stream."""
    with served(checkout, name, "stream") as server:
        uvloop.run(load.stream_rate(server.port, STREAMS, CHUNKS // 10))
        before = server.processor_seconds()
        uvloop.run(load.stream_rate(server.port, STREAMS, CHUNKS))
        return (server.processor_seconds() - before) / STREAMS / CHUNKS * 1e6


def token(checkout: Path, name: str) -> float:
    """Return the microseconds of a token of streams that talk like models."""
    with served(checkout, name, "talk") as server:
        return models.measured(server, TALKING, TOKENS)["CPU"]


MEASURES: dict[str, tuple[Callable[[Path, str], float], str]] = {
    "message": (message, "ours"),
    "message, bearer tokens": (message, "tokens"),
    "message, SQLite": (message, "stored"),
    "event of a stream": (event, "ours"),
    "event of a stream, SQLite": (event, "stored"),
    "token of 300 streams": (token, "ours"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    checkouts = HERE.parent, options.checkout.resolve()
    figures = defaultdict[tuple[str, Path], list[float]](list)
    for number in range(options.rounds):
        for name, (measure, server) in MEASURES.items():
            for checkout in checkouts if number % 2 else checkouts[::-1]:
                figures[name, checkout].append(measure(checkout, server))
    print(f"{'microseconds':28}{'here':>8}{'there':>8}{'ratio':>8}")
    for name in MEASURES:
        here, there = (figures[name, checkout] for checkout in checkouts)
        ratio = median(one / other for one, other in zip(here, there, strict=True))
        print(f"{name:28}{median(here):8.1f}{median(there):8.1f}{ratio:8.2f}")


if __name__ == "__main__":
    main()
