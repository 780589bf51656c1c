"""Saves files of agents."""

from __future__ import annotations

import mimetypes
from pathlib import Path
from typing import TYPE_CHECKING

from a2a_adapters.cli.terminal import visible
from a2a_adapters.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from a2a_adapters.parts import File


def save(files: Iterable[File], folder: Path) -> Iterator[Path]:
    """Write files that came by their bytes, never over one that exists; yield where they are.

    Raises:
        ConfigurationError: The folder cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            if file.content is not None:
                path = _free_path(folder, file)
                path.write_bytes(file.content)
                yield path
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be written: {error.strerror}") from error


def _free_path(folder: Path, file: File) -> Path:
    # The name is the agent's: only its last part counts, and nothing that is hidden.
    name = Path(visible(file.filename).replace("\\", "/")).name.lstrip(".")
    extension = mimetypes.guess_extension(file.media_type) or ".bin"
    wanted = Path(name or f"file{extension}")
    path, number = folder / wanted, 1
    while path.exists():
        number += 1
        path = folder / f"{wanted.stem}-{number}{wanted.suffix}"
    return path
