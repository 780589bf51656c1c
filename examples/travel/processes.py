"""Starts the parts of the example in separate processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
ADDRESS = re.compile(r"http://127[^\s,]+")
SECONDS = 60


@contextmanager
def tools() -> Iterator[str]:
    """Run the MCP server over HTTP; yield its address."""
    with _started([sys.executable, str(HERE / "tools.py"), "--http"], {}) as address:
        yield address


@contextmanager
def agent(target: str, *options: str, **variables: str) -> Iterator[str]:
    """Serve an agent, with variables of the environment; yield its address."""
    command = [sys.executable, "-m", "a2a_adapters", "serve", target, "--port", "0", *options]
    with _started(command, variables) as address:
        yield address


@contextmanager
def _started(command: list[str], variables: dict[str, str]) -> Iterator[str]:
    process = subprocess.Popen(  # noqa: S603
        command,
        env={**os.environ, "PYTHONPATH": str(HERE), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield _address(process)
    except BaseException:
        print(_ended(process))
        raise
    _ended(process)


def _ended(process: subprocess.Popen[str]) -> str:
    """End a process, and return its output."""
    process.terminate()
    return process.communicate(timeout=SECONDS)[0]


def _address(process: subprocess.Popen[str]) -> str:
    seen = []
    for line in process.stdout:
        seen.append(line)
        if found := ADDRESS.search(line):
            return found[0].rstrip("/")
    sys.exit("It did not start: " + "".join(seen))
