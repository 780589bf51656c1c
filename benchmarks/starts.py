"""Measures starts: `python starts.py` prints the figures in seconds, and in megabytes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import load
from processes import Process, free_port, python, start

if TYPE_CHECKING:
    from report import Figures

HELP = "import sys; from a2a_adapters.cli import main; sys.argv[1:] = ['--help']; main()"
IMPORTS = {
    ("import", "ours"): "import a2a_adapters",
    ("client import", "ours"): "from a2a_adapters import RemoteAgent",
    ("client import", "sdk"): "import a2a.client",
}
TIMED = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
FIRST_USE = """\
import asyncio, sys, time
began = time.perf_counter()
from a2a_adapters import RemoteAgent
async def main():
    async with RemoteAgent(sys.argv[1]) as agent:
        assert (await agent.send("hello")).text == "hello"
asyncio.run(main())
print(time.perf_counter() - began)
"""
SERVE = """\
import sys
from a2a_adapters import serve
def echo(text: str) -> str:
    "Repeat the text."
    return text
serve(echo, port=int(sys.argv[1]))
"""
_SECONDS = 60


def starts(figures: Figures, rounds: int) -> None:
    """Measure all of them in interleaved rounds."""
    with start("ours", "echo") as server:
        for _ in range(rounds):
            for figure, statement in IMPORTS.items():
                figures[figure].append(float(python("-c", TIMED.format(statement))))
            figures["help", "ours"].append(time_help())
            figures["first use", "ours"].append(first_use(server))
            figures["serve", "ours"].append(time_serve())
            for name in ("serve", "sdk"):
                taken, kept = cost(name)
                figures["start", name].append(taken)
                figures["fresh", name].append(kept)


def cost(name: str) -> tuple[float, float]:
    """Return a new server's CPU seconds until it has answered, and its megabytes then."""
    with start(name, "echo") as server:
        asyncio.run(load.send(server.port, 1, 1, load.COMPLETED))
        return server.processor_seconds(), server.rss() / 1e6


def time_help() -> float:
    began = time.perf_counter()
    python("-c", HELP)
    return time.perf_counter() - began


def first_use(server: Process) -> float:
    return float(python("-c", FIRST_USE, f"http://127.0.0.1:{server.port}"))


def time_serve() -> float:
    """Return the time to the first answer of a script that serves a function."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "agent.py"
        script.write_text(SERVE, encoding="utf-8")
        port = free_port()
        began = time.perf_counter()
        with subprocess.Popen([sys.executable, script, str(port)], stderr=subprocess.DEVNULL) as it:
            try:
                asyncio.run(answered(port))
                return time.perf_counter() - began
            finally:
                it.terminate()


async def answered(port: int) -> None:
    """Retry until there is an answer."""
    async with asyncio.timeout(_SECONDS):
        while True:
            with contextlib.suppress(OSError):
                await load.send(port, 1, 1, load.COMPLETED)
                return
            await asyncio.sleep(0.005)


def main() -> None:
    figures: Figures = defaultdict(list)
    starts(figures, rounds=5)
    print(json.dumps({" of ".join(figure): median(values) for figure, values in figures.items()}))


if __name__ == "__main__":
    main()
