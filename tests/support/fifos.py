"""FIFOs for signals from processes to a test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
