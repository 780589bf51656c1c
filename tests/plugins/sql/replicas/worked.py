"""What workers serve."""

from __future__ import annotations

import os


def who(text: str) -> str:
    """Say which process answers."""
    return f"{text} {os.getpid()}"
