"""What steps have done, in a file that all processes append to."""

from __future__ import annotations

import os
from pathlib import Path


def note(work: Path, step: str, trip: str) -> None:
    """Log that a step of a trip is running."""
    line = f"{step} {trip}\n".encode()
    log = os.open(work / "journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(log, line)
    finally:
        os.close(log)


def read(work: Path) -> dict[str, list[str]]:
    """Return the steps of each trip in their order."""
    steps: dict[str, list[str]] = {}
    for line in (work / "journal").read_text().splitlines():
        step, trip = line.split()
        steps.setdefault(trip, []).append(step)
    return steps
