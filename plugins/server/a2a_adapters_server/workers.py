"""`serve --workers N`: runs the command in several processes that share a port."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from a2a_adapters.cli.exits import USAGE
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.net.addresses import listen
from a2a_adapters_server.worker_figures import WorkerFigures

if TYPE_CHECKING:
    from types import FrameType

    from a2a_adapters_server.settings import ServerSettings

logger = logging.getLogger("a2a_adapters.cli")

_POLL_SECONDS = 0.1
_PAUSE_SECONDS = 1.0
"""Delay before a dead worker is replaced."""


def check(settings: ServerSettings) -> None:
    """Raise `ConfigurationError` for settings that several processes do not support."""
    if os.name != "posix":
        raise ConfigurationError("--workers needs an operating system whose processes share ports")
    if not settings.storage.startswith("postgresql:"):
        raise ConfigurationError(
            f"workers cannot share a storage of {settings.storage.partition(':')[0]}:; "
            "use --storage postgresql://user:password@host/database"
        )
    if settings.grpc_port is not None:
        raise ConfigurationError(
            "gRPC supports one process per port; start several servers on different ports"
        )


class Workers:
    """Runs this command in worker processes, and replaces those that die.

    Args:
        settings: The server's settings.
        port: The port to listen on; None takes the default one, or the next free one.
    """

    def __init__(self, settings: ServerSettings, port: int | None) -> None:
        self._sockets = listen(settings.host, port)
        self._count = settings.workers
        self._alive, self._held = os.pipe()
        self._folder = tempfile.mkdtemp(prefix="a2a-workers-")
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        """The workers by number."""
        self._signalled: Counter[int] = Counter()
        """Number of stop signals sent to each process."""
        self._stops = 0
        """Number of stop signals received."""

    def run(self) -> int:
        """Run the workers until stopped, or until one fails to start; return the exit code."""
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._stop)
        self._running = {number: self._started(number) for number in range(self._count)}
        first, code = {worker.pid for worker in self._running.values()}, 0
        while self._running:
            time.sleep(_POLL_SECONDS)
            ended = [(n, each) for n, each in self._running.items() if each.poll() is not None]
            for number, worker in ended:
                del self._running[number]
                if worker.returncode == USAGE and worker.pid in first:  # a restart would not help
                    code, self._stops = USAGE, self._stops or 1
                elif not self._stops:
                    self._replace(number, worker)
            self._forward_stops()
        shutil.rmtree(self._folder, ignore_errors=True)
        return code

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._stops += 1

    def _forward_stops(self) -> None:
        """Forward stop signals to the workers; the second one kills them."""
        for worker in self._running.values():
            if self._signalled[worker.pid] < self._stops:
                self._signalled[worker.pid] = self._stops
                worker.send_signal(signal.SIGTERM if self._stops == 1 else signal.SIGKILL)

    def _replace(self, number: int, worker: subprocess.Popen[bytes]) -> None:
        logger.warning("worker %d has ended (%d), replacing it", worker.pid, worker.returncode)
        time.sleep(_PAUSE_SECONDS)
        self._running[number] = self._started(number)

    def _started(self, number: int) -> subprocess.Popen[bytes]:
        fds = [self._alive, *(each.fileno() for each in self._sockets)]
        arguments = sys.argv[1:]
        place = arguments.index("serve") + 1
        arguments[place:place] = ["--worker", f"{','.join(map(str, fds))}:{number}:{self._folder}"]
        command = [sys.executable, "-m", "a2a_adapters", *arguments]
        return subprocess.Popen(command, pass_fds=fds)  # noqa: S603 - this command


def inherited(worker: str) -> tuple[list[socket.socket], WorkerFigures]:
    """Return a worker's sockets and metrics, and let it end with its parent process."""
    fds, number, folder = worker.split(":", 2)
    alive, *sockets = map(int, fds.split(","))
    threading.Thread(target=partial(_end_with, alive), daemon=True).start()
    figures = WorkerFigures(Path(folder), int(number))
    return [socket.socket(fileno=each) for each in sockets], figures


def _end_with(pipe: int) -> None:
    """Stop this process when the other end of a pipe is closed."""
    os.read(pipe, 1)
    os.kill(os.getpid(), signal.SIGTERM)
