"""`serve --workers N`: the same command in several processes that share one port."""

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
from a2a_adapters.observability.workers import WorkerFigures

if TYPE_CHECKING:
    from types import FrameType

    from a2a_adapters.cli.settings import ServerSettings

logger = logging.getLogger("a2a_adapters.cli")

_LOOK_SECONDS = 0.1
_PAUSE_SECONDS = 1.0
"""How long a worker that has ended is not started again."""


def check(settings: ServerSettings) -> None:
    """Refuse what several processes cannot do together.

    Raises:
        ConfigurationError: It says what to do in its place.
    """
    if os.name != "posix":
        raise ConfigurationError("--workers needs an operating system whose processes share ports")
    if not settings.storage.startswith("postgresql:"):
        raise ConfigurationError(
            f"workers need a storage that they can share, not {settings.storage.partition(':')[0]}:"
            "; give them --storage postgresql://user:password@host/database"
        )
    if settings.grpc_port is not None:
        raise ConfigurationError("gRPC is for one process at a port; start servers at several")


class Workers:
    """Processes that run this command as workers, started again when they die.

    Args:
        settings: Where to listen, and how many there are.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._sockets = listen(settings.host, settings.port)
        self._count = settings.workers
        self._alive, self._held = os.pipe()
        self._folder = tempfile.mkdtemp(prefix="a2a-workers-")
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        """The workers by their numbers."""
        self._told: Counter[int] = Counter()
        """How often each process was told to stop."""
        self._stops = 0
        """How often we were."""

    def run(self) -> int:
        """Run them until told to stop, or until what they serve turns out wrong.

        Returns:
            The exit code.
        """
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._stop)
        self._running = {number: self._started(number) for number in range(self._count)}
        first, code = {worker.pid for worker in self._running.values()}, 0
        while self._running:
            time.sleep(_LOOK_SECONDS)
            ended = [(n, each) for n, each in self._running.items() if each.poll() is not None]
            for number, worker in ended:
                del self._running[number]
                if worker.returncode == USAGE and worker.pid in first:  # so would any other
                    code, self._stops = USAGE, self._stops or 1
                elif not self._stops:
                    self._replace(number, worker)
            self._tell()
        shutil.rmtree(self._folder, ignore_errors=True)
        return code

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._stops += 1

    def _tell(self) -> None:
        """Have the workers stop; who asks again does not want to wait."""
        for worker in self._running.values():
            if self._told[worker.pid] < self._stops:
                self._told[worker.pid] = self._stops
                worker.send_signal(signal.SIGTERM if self._stops == 1 else signal.SIGKILL)

    def _replace(self, number: int, worker: subprocess.Popen[bytes]) -> None:
        logger.warning("worker %d has ended (%d)", worker.pid, worker.returncode)
        time.sleep(_PAUSE_SECONDS)
        self._running[number] = self._started(number)

    def _started(self, number: int) -> subprocess.Popen[bytes]:
        fds = [self._alive, *(each.fileno() for each in self._sockets)]
        arguments = sys.argv[1:]
        place = arguments.index("serve") + 1
        arguments[place:place] = ["--worker", f"{','.join(map(str, fds))}:{number}:{self._folder}"]
        command = [sys.executable, "-m", "a2a_adapters", *arguments]
        return subprocess.Popen(command, pass_fds=fds)  # noqa: S603 - it is this command


def inherited(worker: str) -> tuple[list[socket.socket], WorkerFigures]:
    """Return a worker's sockets and its figures; it ends with the process that started it."""
    fds, number, folder = worker.split(":", 2)
    alive, *sockets = map(int, fds.split(","))
    threading.Thread(target=partial(_end_with, alive), daemon=True).start()
    figures = WorkerFigures(Path(folder), int(number))
    return [socket.socket(fileno=each) for each in sockets], figures


def _end_with(pipe: int) -> None:
    """Wait until nobody holds the other end of a pipe, and stop this process then."""
    os.read(pipe, 1)
    os.kill(os.getpid(), signal.SIGTERM)
