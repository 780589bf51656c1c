"""Servers in separate processes."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.warm import PID_FILE, is_warm, warm

UV = Path(sys.executable).with_name("uv")
"""The installer from the test group."""

PATIENCE = 100.0
"""Time limit in seconds for a process to end, generous for busy machines."""


class Server(subprocess.Popen[str]):
    """A process that serves an agent. Its log is read continuously, so no pipe fills up.

    Signals go to the command itself, even if it is a warm one.
    """

    def __init__(self, command: list[str], environment: dict[str, str] | None) -> None:
        self._noted = tempfile.NamedTemporaryFile()  # noqa: SIM115 - closed by `close`
        noted = {PID_FILE: self._noted.name} if is_warm(command) else {}
        environment = {**(os.environ if environment is None else environment), **noted}
        super().__init__(command, env=environment, stderr=subprocess.PIPE, text=True)
        self._log: list[str] = []
        self._is_ended = False
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def command_pid(self) -> int:
        """PID of the command; for a warm one, `pid` is that of its relay."""
        return int(Path(self._noted.name).read_text() or self.pid)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # already ended
                os.kill(self.command_pid, number)

    def close(self) -> None:
        """Kill the process if it still runs."""
        self.kill()
        self.wait()
        self._noted.close()

    def _read(self) -> None:
        assert self.stderr is not None
        with self.stderr as log:
            for line in log:
                with self._news:
                    self._log.append(line)
                    self._news.notify_all()
        with self._news:
            self._is_ended = True
            self._news.notify_all()

    def said(self, pattern: str) -> re.Match[str]:
        """Wait for a line that matches; return the match."""
        for line in self._lines():
            if found := re.search(pattern, line):
                return found
        raise AssertionError("the server has ended: " + "".join(self._log))

    def _lines(self) -> Iterator[str]:
        """Yield the lines of the log from the start as they arrive."""
        for number in itertools.count():
            with self._news:
                self._news.wait_for(lambda number=number: self._is_ended or len(self._log) > number)
            if number == len(self._log):
                return
            yield self._log[number]

    def ended(self) -> str:
        """Wait for its end and return the whole log."""
        self.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self._is_ended, "a child process is still running"
        return "".join(self._log)


@contextmanager
def serving(target: str, environment: dict[str, str], *options: str) -> Iterator[str]:
    """Run `a2a-adapters serve` on a free port and yield its URL."""
    command = warm("-m", "a2a_adapters", "serve", target, "--port", "0", *options)
    with started(command, environment) as url:
        yield url


@contextmanager
def started(command: list[str], environment: dict[str, str] | None = None) -> Iterator[str]:
    """Run a command that serves an agent and yield the agent's URL."""
    with launched(command, environment) as (_, url):
        yield url


@contextmanager
def launched(
    command: list[str], environment: dict[str, str] | None = None
) -> Iterator[tuple[Server, str]]:
    """Run a command that serves an agent and yield its process and URL."""
    server = Server(command, environment)
    try:
        yield server, server.said(r"A2A agent at (http://\S+)/,")[1]
    finally:
        server.terminate()
        try:
            server.ended()
        finally:
            server.close()


@contextmanager
def fifos(folder: Path, *names: str) -> Iterator[None]:
    """Create FIFOs in a folder; finally release all waiters, so that a failed test ends."""
    for name in names:
        os.mkfifo(folder / name)
    try:
        yield
    finally:
        for name in names:
            os.close(os.open(folder / name, os.O_RDWR))
