"""Checks that paths are in the working folder, and removes the folder's path from texts."""

from __future__ import annotations

from pathlib import Path

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
