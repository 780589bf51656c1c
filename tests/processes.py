"""Servers in processes of their own."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UV = Path(sys.executable).with_name("uv")
"""The installer, which the test group brings."""


@contextmanager
def serving(target: str, environment: dict[str, str], *options: str) -> Iterator[str]:
    """Run `a2a-adapters serve` on a free port and yield its address."""
    command = [sys.executable, "-m", "a2a_adapters", "serve", target, "--port", "0", *options]
    with started(command, environment) as url:
        yield url


@contextmanager
def started(command: list[str], environment: dict[str, str] | None = None) -> Iterator[str]:
    """Run a command that serves an agent and yield the agent's address."""
    with launched(command, environment) as (_, url):
        yield url


@contextmanager
def launched(
    command: list[str], environment: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a command that serves an agent and yield its process and the agent's address."""
    server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        yield server, _address(server)
    finally:
        server.terminate()
        server.communicate(timeout=20)


def _address(server: subprocess.Popen[str]) -> str:
    assert server.stderr is not None
    seen = []
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline and (line := server.stderr.readline()):
        seen.append(line)
        if found := re.search(r"A2A agent at (http://\S+)/,", line):
            return found[1]
    raise AssertionError("the server did not start: " + "".join(seen))
