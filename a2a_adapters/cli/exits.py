"""How a command ends: its exit code, and what it says went wrong.

Codes and shapes are those of the a2a-cli specification 0.2, section 11 and appendices B and D.
"""

from __future__ import annotations

import json
import sys
import traceback
from dataclasses import dataclass
from typing import NoReturn

from a2a_adapters.calling.errors import (
    NoCardError,
    RemoteAgentError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteTimeoutError,
)
from a2a_adapters.cli.origin import origin
from a2a_adapters.cli.terminal import echo

FAILED = 1
"""The command could not do what it was asked, and no other code says why."""
USAGE = 2
"""The command line, a file or the target is wrong."""
UNREACHABLE = 3
"""An agent or its card cannot be reached, or there is none."""
UNAUTHENTICATED = 4
"""An agent wants credentials, or other ones."""
TIMED_OUT = 5
"""The time was over before the task ended."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong, as programs read it.

    Attributes:
        code: The name of A2A's error, or an `A2ACLI_ERR_*` of what never reached an agent.
        message: What went wrong.
        exit_code: What the command ends with.
        hint: What to do next.
        protocol_code: The code of the binding, if the agent sent one.
    """

    code: str
    message: str
    exit_code: int
    hint: str | None = None
    protocol_code: int | None = None

    def to_json(self) -> str:
        """Return the error envelope, on one line."""
        about = {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "a2aCode": self.protocol_code,
        }
        return json.dumps({"error": about})


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
        echo("".join(traceback.format_exception(error)), err=True, nl=False)
    text, hint = located(error), ""
    if isinstance(error, NoCardError):
        text, hint = error.message, error.hint
    echo(f"a2a-adapters: {text}", err=True)
    if hint:
        echo(f"hint: {hint}", err=True)
    sys.exit(exit_code(error))


def located(error: Exception) -> str:
    """Return what an error says, behind the line of the user's file that it comes from, if any."""
    place = origin(error)
    return f"{place}: {error}" if place else str(error)


def exit_code(error: Exception) -> int:
    """Return what a command ends with because of an error."""
    match error:
        case CommandError(code=code):
            return code
        case NoCardError() | RemoteConnectionError():
            return UNREACHABLE
        case RemoteAuthError():
            return UNAUTHENTICATED
        case RemoteTimeoutError():
            return TIMED_OUT
        case RemoteAgentError() | OSError():
            return FAILED
        case _:
            return USAGE
