"""How a command ends: its exit code, and one line that says what to do."""

from __future__ import annotations

import sys
import traceback
from typing import NoReturn

import typer

from a2a_adapters.cli.origin import origin
from a2a_adapters.errors import ListenError

FAILED = 1
"""The remote task failed, or the agent refused."""
USAGE = 2
"""The command line or the target is wrong."""
UNREACHABLE = 3
"""A remote agent did not answer, or not with a card."""
QUESTION = 4
"""A remote agent asks, and there is no terminal to ask in."""
PORT_TAKEN = 5
"""The server cannot listen where it was told to."""


class CommandError(Exception):
    """A command cannot go on.

    Args:
        message: What to do, on one line.
        code: The exit code.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def fail(message: str, code: int) -> NoReturn:
    """End the command with one line that says what to do."""
    raise CommandError(message, code)


def end(error: Exception, *, verbose: bool) -> NoReturn:
    """Tell of an error and leave the process; `verbose` shows where it came from as well."""
    if verbose:
        typer.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    place = origin(error)
    typer.echo(f"a2a-adapters: {f'{place}: ' if place else ''}{error}", err=True)
    sys.exit(_code(error))


def _code(error: Exception) -> int:
    if isinstance(error, CommandError):
        return error.code
    return PORT_TAKEN if isinstance(error, ListenError) else USAGE
