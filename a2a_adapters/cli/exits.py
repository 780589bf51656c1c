"""How a command ends: its exit code, and the error that it prints.

Codes and shapes are those of the a2a-cli specification 0.2, section 11 and appendices B and D.
"""

from __future__ import annotations

import json
import sys
import sysconfig
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from a2a_adapters.calling.errors import (
    NoCardError,
    RemoteAgentError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteTimeoutError,
)
from a2a_adapters.cli.terminal import echo

if TYPE_CHECKING:
    from collections.abc import Iterator

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

_INSTALLED = [
    Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib", "purelib", "platlib")
]


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


def origin(error: BaseException) -> str:
    """Return the user's file and line that an error's cause came from, "" if there is none."""
    for cause in reversed(list(_causes(error))):
        if places := _places(cause):
            path, line = places[-1]
            return f"{_shown(path)}, line {line}"
    return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield what caused an error, the first cause last; an error may be its own cause."""
    seen = {error}
    while (cause := error.__cause__) is not None and cause not in seen:
        seen.add(cause)
        yield cause
        error = cause


def _places(error: BaseException) -> list[tuple[Path, int]]:
    """Return the lines of the user's files that an error passed, the innermost last."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return [(Path(error.filename), error.lineno)]
    return [
        (path, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if _is_users(path := Path(frame.f_code.co_filename), frame.f_globals.get("__name__", ""))
    ]


def _is_users(path: Path, module: str) -> bool:
    if module.startswith("a2a_adapters") or not path.is_file():
        return False
    return not any(path.is_relative_to(folder) for folder in _INSTALLED)


def _shown(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
