"""FIFOs, by which processes tell a test what they have come to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def fifos(folder: Path, *names: str) -> Iterator[None]:
    """Make FIFOs in a folder. At the end nobody waits for one, lest a failed test never ends."""
    for name in names:
        os.mkfifo(folder / name)
    try:
        yield
    finally:
        for name in names:
            os.close(os.open(folder / name, os.O_RDWR))
