"""Servers in processes of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.warm import warm

UV = Path(sys.executable).with_name("uv")
"""The installer, which the test group brings."""

PATIENCE = 100.0
"""How many seconds a process may take to end: what it does in one, a busy machine does in many."""


@contextmanager
def serving(target: str, environment: dict[str, str], *options: str) -> Iterator[str]:
    """Run `a2a-adapters serve` on a free port and yield its address."""
    command = warm("-m", "a2a_adapters", "serve", target, "--port", "0", *options)
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
        try:
            server.communicate(timeout=PATIENCE)
        finally:
            server.kill()


def _address(server: subprocess.Popen[str]) -> str:
    """Read what a server says until it says where it is, or ends."""
    assert server.stderr is not None
    seen = []
    for line in server.stderr:
        seen.append(line)
        if found := re.search(r"A2A agent at (http://\S+)/,", line):
            return found[1]
    raise AssertionError("the server did not start: " + "".join(seen))
