"""Checks that paths are in the working folder, and removes the folder's path from texts."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal, TextIO

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_TEXT_LENGTH = 4_000


def inside(path: str, folder: Path) -> Path | None:
    """Resolve an agent's path with its symbolic links; None if it leaves the folder.

    Args:
        path: The path, absolute or relative to the folder.
        folder: The folder, resolved.
    """
    try:
        found = (folder / path).resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a null character
        return None
    return found if found.is_relative_to(folder) else None


def opened(file: Path, folder: Path, mode: Literal["r", "w"]) -> TextIO:
    """Open a file that `inside` has returned, without following links that were made since then.

    Writing creates the file and its folders.

    Raises:
        OSError: The file cannot be opened, or a part of its path is a link by now.
    """
    if sys.platform == "win32":
        file.parent.mkdir(parents=True, exist_ok=True)
        return file.open(mode, errors="replace")
    *parents, name = file.relative_to(folder).parts
    is_new = mode == "w"
    with ExitStack() as places:
        place = os.open(folder, _FOLDER)
        places.callback(os.close, place)
        for parent in parents:
            if is_new:
                with suppress(FileExistsError):
                    os.mkdir(parent, dir_fd=place)
            place = os.open(parent, _FOLDER, dir_fd=place)
            places.callback(os.close, place)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if is_new else os.O_RDONLY
        # Opening a named pipe would block otherwise.
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        found = os.open(name, flags, 0o666, dir_fd=place)
    return os.fdopen(found, mode, errors="replace")


def shown(text: str, folder: Path, length: int = _TEXT_LENGTH) -> str:
    """Return an agent's text for display: printable, bounded, and with relative paths."""
    seen = text[: 2 * length].replace(f"{folder}/", "").replace(str(folder), ".")
    seen = "".join(c if c.isprintable() or c in "\n\t" else " " for c in seen)
    return seen if len(seen) <= length else f"{seen[: length - 1]}…"


def name_of(path: str, folder: Path) -> str:
    """Return a file's name for display: relative to the folder, on one line."""
    found = inside(path, folder)
    name = found.relative_to(folder).as_posix() if found else Path(path).name
    return " ".join(shown(name, folder, 200).split())
