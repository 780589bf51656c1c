"""Where in the user's own code an error began."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_INSTALLED = [
    Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib", "purelib", "platlib")
]


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
