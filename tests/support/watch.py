"""Stops a PostgreSQL server and removes its folder once it is unused."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path


def main(folder, lock):
    with lock.open() as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        running = folder / "postmaster.pid"
        with suppress(FileNotFoundError, ProcessLookupError):
            pid = int(running.read_text().split()[0])
            while running.exists():
                os.kill(pid, signal.SIGQUIT)
                time.sleep(0.1)
        shutil.rmtree(folder, ignore_errors=True)
        lock.unlink(missing_ok=True)


if __name__ == "__main__" and not os.fork():  # its parent need not wait
    main(*map(Path, sys.argv[1:]))
