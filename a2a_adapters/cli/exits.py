"""Exit codes and error output of commands (a2a-cli specification 0.2, section 11)."""

from __future__ import annotations

import sys
import sysconfig
import traceback
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
"""The command failed for a reason without its own code."""

USAGE = 2
"""The command line, a file or the target is invalid."""

UNREACHABLE = 3
"""An agent or its card cannot be reached."""

UNAUTHENTICATED = 4
"""An agent requires credentials, or other ones."""

TIMED_OUT = 5
"""The task did not end in time."""

_INSTALLED = [
    Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib", "purelib", "platlib")
]


class CommandError(Exception):
    """A command fails with a one-line message and an exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def fail(message: str, code: int) -> NoReturn:
    """End the command with a one-line message and an exit code."""
    raise CommandError(message, code)


def end(error: Exception, *, verbose: bool) -> NoReturn:
    """Print an error, with its traceback if `verbose`, and exit the process."""
    if verbose:
        echo("".join(traceback.format_exception(error)), err=True, nl=False)
    text, hint = located(error), ""
    if isinstance(error, NoCardError):
        text, hint = error.message, error.hint
    echo("a2a-adapters: ", err=True, nl=False, fg="red")
    echo(text, err=True)
    if hint:
        echo(f"hint: {hint}", err=True)
    sys.exit(exit_code(error))


def located(error: Exception) -> str:
    """Return an error's text, preceded by the line of the user's file that caused it, if any."""
    place = origin(error)
    return f"{place}: {error}" if place else str(error)


def exit_code(error: Exception) -> int:
    """Return the exit code for an error."""
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
    """Return the line of the user's file in which an error's cause was raised, or ""."""
    for cause in reversed(list(_causes(error))):
        if places := _places(cause):
            path, line = places[-1]
            return f"{_shown(path)}, line {line}"
    return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error's causes, the original one last; an error may be its own cause."""
    seen = {error}
    while (cause := error.__cause__) is not None and cause not in seen:
        seen.add(cause)
        yield cause
        error = cause


def _places(error: BaseException) -> list[tuple[Path, int]]:
    """Return the lines of the user's files in an error's traceback, the innermost last."""
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
