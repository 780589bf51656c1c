"""Commands of an environment that listen on a port."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[3]
AGENT = f"{ROOT / 'tests/platforms/agent.py'}:answer"
_START_SECONDS = 180.0
_END_SECONDS = 30.0


def free_port() -> int:
    """Return a port that nothing uses."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


@contextmanager
def running(url: str, *command: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command of this environment until the URL answers, and end it afterwards."""
    program = str(Path(sys.executable).with_name(command[0]))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [program, *command[1:]], env=environment, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            _wait(url, process)
            yield process
        except BaseException:
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace")[-8000:])
            raise
        finally:
            process.terminate()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} has ended with {process.returncode}")
        try:
            if httpx.get(url, timeout=5).status_code == httpx.codes.OK:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise RuntimeError(f"{url} does not answer")


@contextmanager
def serving(*options: str, **variables: str) -> Iterator[str]:
    """Run `a2a-adapters serve` with the agent of the tests, and yield its address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = ("a2a-adapters", "serve", AGENT, "--port", str(port), *options)
    with running(f"{url}/readyz", *command, **variables):
        yield url
