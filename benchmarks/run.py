"""Compares a2a-adapters with its peers: `python benchmarks/run.py [--write docs/benchmarks.md]`.

Every server runs in a separate process on 127.0.0.1. The rounds are interleaved (A B C, A B C), so
that changes in the machine's speed affect all of them. Takes a few minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import sys
from collections import defaultdict
from collections.abc import Coroutine, Iterator
from pathlib import Path
from statistics import median
from typing import TypeVar

import load
import models
import pace
import report
import uvloop
from bindings import bindings
from concurrency import concurrency, drawn
from conversations import conversations
from processes import DATA, HERE, Process, interpreter, python, start
from pushes import pushes
from sizes import sizes
from starts import starts
from storages import storages

T = TypeVar("T")

CONNECTIONS = 16
LOAD, PACED_CONNECTIONS = 0.8, 64
STREAMS, CHUNKS = 16, 1000
FIRST_TOKENS = 50
WARM_UP_TASKS, STORED_TASKS = 500, 5000
BLOCKING_RUNS = 8
AUTOGEN, AUTOGEN_RUNS = ("autogen agent", "autogen team"), 200
WARM_UP_CREWS, CREW_RUNS = 10, 50


def main() -> None:
    options = parse()
    names = [name for name in options.servers if interpreter(name)]
    figures: report.Figures = defaultdict(list)
    DATA.mkdir(parents=True, exist_ok=True)
    gc.disable()  # exclude the client's own pauses
    models.models(figures, options.memory_rounds)
    conversations(figures, options.memory_rounds)
    with running(names, "echo") as echo, running(names, "stream") as stream:
        for number in range(options.rounds):
            say(f"round {number + 1} of {options.rounds}")
            for name in names:
                speed(figures, name, echo[name], stream[name], options.seconds)
    for number in range(options.memory_rounds):
        say(f"memory round {number + 1} of {options.memory_rounds}")
        for name in names:
            figures["memory", name].append(memory(name))
    say("this project alone")
    blocking(figures, options.rounds)
    starts(figures, options.rounds)
    sizes(figures, options.rounds)
    bindings(figures, options.rounds, options.seconds)
    calling(figures, options.rounds)
    autogen(figures, options.rounds)
    crews(figures, options.rounds)
    tools(figures, options.rounds)
    storages(figures, options.rounds, options.seconds)
    pushes(figures, options.rounds)
    concurrency(figures, rounds=2)
    text = report.render(figures, names)
    print(text)
    if options.write:
        options.write.write_text(text, encoding="utf-8")
        options.write.with_suffix(".svg").write_text(drawn(figures), encoding="utf-8")
        streams = options.write.with_name(f"{options.write.stem}-streams.svg")
        streams.write_text(models.drawn(figures), encoding="utf-8")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory-rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2, help="of SendMessage in each round")
    parser.add_argument("--servers", nargs="+", default=list(report.LABELS))
    parser.add_argument("--write", type=Path, metavar="FILE")
    return parser.parse_args()


def speed(
    figures: report.Figures, name: str, echo: Process, stream: Process, seconds: float
) -> None:
    """Measure one server once."""
    rate = run(load.throughput(echo.port, seconds, CONNECTIONS, expected(name)))
    figures["send", name].append(rate)
    if name != "starlette":  # faster than our client can keep pace with
        paced = pace.p99(echo.port, LOAD * rate, seconds, PACED_CONNECTIONS, expected(name))
        figures["p99", name].append(run(paced) * 1e3)
    figures["stream", name].append(run(load.stream_rate(stream.port, STREAMS, CHUNKS)))
    first = run(load.first_token(stream.port, FIRST_TOKENS))
    figures["first", name].append(median(first) * 1e3)


def memory(name: str) -> float:
    """Return the growth of a new server per finished task, in KiB."""
    with start(name, "echo") as server:
        run(load.send(server.port, WARM_UP_TASKS, CONNECTIONS, expected(name)))
        before = server.rss()
        run(load.send(server.port, STORED_TASKS, CONNECTIONS, expected(name)))
        return (server.rss() - before) / STORED_TASKS / 1024


def blocking(figures: report.Figures, rounds: int) -> None:
    """Measure runs that block."""
    try:
        with start("ours", "sleep") as server:
            for _ in range(rounds):
                took = run(load.send(server.port, BLOCKING_RUNS, BLOCKING_RUNS, load.COMPLETED))
                figures["blocking", "ours"].append(took * 1e3)
    except RuntimeError as error:
        say(f"not measured: {error}")


def autogen(figures: report.Figures, rounds: int) -> None:
    """Measure served AutoGen agents and teams compared with `run_stream`."""
    if not interpreter("autogen"):
        say("not measured: autogen; `make tests` installs it")
        return
    for kind in AUTOGEN:
        with start("autogen", kind) as server:
            for _ in range(rounds):
                figures[kind, "ours"].append(added_to_autogen(kind, server))


def added_to_autogen(kind: str, server: Process) -> float:
    """Return the milliseconds that a server adds to `run_stream`."""
    script = HERE / "autogen_runs.py"
    direct = float(python(script, kind, str(AUTOGEN_RUNS), executable=interpreter("autogen")))
    served = run(load.send(server.port, AUTOGEN_RUNS, 1, load.COMPLETED)) / AUTOGEN_RUNS
    return (served - direct) * 1e3


def calling(figures: report.Figures, rounds: int) -> None:
    """Measure a served agent as a chat model of LangChain, compared with httpx."""
    with start("ours", "echo") as echo, start("ours", "stream") as stream:
        for _ in range(rounds):
            printed = python(HERE / "calling.py", str(echo.port), str(stream.port))
            invoked, posted, rate, connections = map(float, printed.split())
            figures["added to a call", "ours"].append(invoked - posted)
            figures["called chunks", "ours"].append(rate)
            figures["connections", "ours"].append(connections)


def crews(figures: report.Figures, rounds: int) -> None:
    """Measure served crews compared with `akickoff`."""
    if not (crewai := interpreter("crews")):
        say("not measured: crews; `make test-crewai` installs crewai")
        return
    with start("crews", "echo") as quick, start("crews", "sleep") as slow:
        run(load.send(quick.port, WARM_UP_CREWS, 1, load.COMPLETED))
        run(load.send(slow.port, BLOCKING_RUNS, BLOCKING_RUNS, load.COMPLETED))
        for _ in range(rounds):
            served = [run(load.send(quick.port, 1, 1, load.COMPLETED)) for _ in range(CREW_RUNS)]
            figures["served crew", "ours"].append(median(served) * 1e3)
            direct = python(HERE / "crews.py", str(CREW_RUNS), executable=crewai)
            figures["crew", "ours"].append(float(direct))
            took = run(load.send(slow.port, BLOCKING_RUNS, BLOCKING_RUNS, load.COMPLETED))
            figures["slow crews", "ours"].append(took * 1e3)


def tools(figures: report.Figures, rounds: int) -> None:
    """Measure tools of MCP over A2A and agents as tools, compared with direct calls."""
    if not (with_mcp := interpreter("tools")):
        say("not measured: tools; `make tests` installs mcp")
        return
    with start("tools", "served") as served, start("tools", "echo") as offered:
        for _ in range(rounds):
            ports = str(served.port), str(offered.port)
            printed = python(HERE / "tool_calls.py", *ports, executable=with_mcp)
            over_a2a, over_mcp = map(float, printed.split())
            figures["tool over A2A", "ours"].append(over_a2a)
            figures["agent over MCP", "ours"].append(over_mcp)


def expected(name: str):
    """Return the expected content of an answer; fasta2a answers before the task is done."""
    return load.ACCEPTED if name == "fasta2a" else load.COMPLETED


def run(coroutine: Coroutine[None, None, T]) -> T:
    gc.collect()
    return uvloop.run(coroutine)


@contextlib.contextmanager
def running(names: list[str], agent: str) -> Iterator[dict[str, Process]]:
    """Run one agent on every server."""
    with contextlib.ExitStack() as stack:
        yield {name: stack.enter_context(start(name, agent)) for name in names}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
