"""The target of workers."""

from __future__ import annotations

import os


def who(text: str) -> str:
    """Return the id of the process."""
    return f"{text} {os.getpid()}"
