"""Files of a message as crewai's input files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from a2a_adapters import File, InvalidInputError, Part


def takes_files() -> bool:
    """Whether crewai's support for files is installed."""
    return find_spec("crewai_files") is not None


def input_files(parts: Sequence[Part]) -> Mapping[str, Any]:
    """Return the files by name.

    Raises:
        InvalidInputError: Files cannot be taken here, or one is given by its address.
    """
    files = [part for part in parts if isinstance(part, File)]
    if not files:
        return {}
    if not takes_files():
        raise InvalidInputError("this agent takes text and data, no files")
    crewai_files: Any = import_module("crewai_files")  # of an extra of crewai

    named: dict[str, Any] = {}
    for number, file in enumerate(files, start=1):
        name = file.filename or f"file{number}"
        source = crewai_files.FileBytes(data=file.received(), filename=name)
        named[name if name not in named else f"{number}-{name}"] = crewai_files.File(source=source)
    return named
