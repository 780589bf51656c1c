"""How a command ends."""

from __future__ import annotations

import sys
from typing import NoReturn

import typer

FAILED = 1
"""The remote task failed, or the agent refused."""
USAGE = 2
"""The command line or the target is wrong."""
UNREACHABLE = 3
"""A remote agent did not answer, or not with a card."""
QUESTION = 4
"""A remote agent asks, and there is no terminal to ask in."""


def fail(message: str, code: int) -> NoReturn:
    """End the command with one line that says what to do."""
    typer.echo(f"a2a-adapters: {message}", err=True)
    sys.exit(code)
