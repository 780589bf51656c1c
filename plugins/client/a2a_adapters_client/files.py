"""Artifacts of a task as files: saving them, and printing what is not text."""

from __future__ import annotations

import json
import mimetypes
from itertools import count
from pathlib import PurePath
from typing import TYPE_CHECKING

from a2a_adapters.cli.terminal import echo, escaped, note
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.contract.parts import Data, File, Text
from a2a_adapters.protocol.conversion import from_protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from a2a.types import Task

    from a2a_adapters import AgentReply

_STEM_BYTES = 180
_SUFFIX_BYTES = 40
"""Leaves room for a number within the 255 bytes allowed by most file systems."""


def results(task: Task) -> Iterator[File]:
    """Yield a task's artifacts as files; text and data take the name of their artifact."""
    for artifact in task.artifacts:
        name = artifact.name or artifact.artifact_id
        for part in artifact.parts:
            match from_protocol(part):
                case Text(text=text):
                    yield File(content=text.encode(), filename=f"{name}.txt")
                case Data(value=value):
                    content = json.dumps(value, indent=2, ensure_ascii=False).encode()
                    yield File(content=content, filename=f"{name}.json")
                case File() as file:
                    yield file


def save(files: Iterable[File], folder: Path) -> Iterator[Path]:
    """Save files with inline content without overwriting; yield their paths.

    Raises:
        ConfigurationError: The folder or a file cannot be written. The other files
            are saved regardless.
    """
    failure = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be written: {error.strerror}") from error
    for file in files:
        if file.content is not None:
            try:
                yield _written(folder, file, file.content)
            except OSError as error:
                failure = failure or error
    if failure is not None:
        raise ConfigurationError(f"{folder} cannot be written: {failure.strerror}") from failure


def _written(folder: Path, file: File, content: bytes) -> Path:
    wanted = _name(file)
    for number in count(1):
        name = f"{wanted.stem}-{number}{wanted.suffix}" if number > 1 else wanted.name
        try:
            target = (folder / name).open("xb")  # does not follow symlinks, even dangling ones
        except FileExistsError:
            continue
        with target:
            target.write(content)
        return folder / name
    raise AssertionError  # pragma: no cover - the numbers are endless


def _name(file: File) -> PurePath:
    """Return a safe file name from the agent's name for a file."""
    last = PurePath(file.filename.replace("\\", "/")).name
    # Programs would take a name that begins with a dash as an option.
    name = PurePath("".join(c for c in last if c.isprintable()).lstrip(".- ").rstrip(". "))
    if not name.name:
        return PurePath(f"file{mimetypes.guess_extension(file.media_type) or '.bin'}")
    return PurePath(_clipped(name.stem, _STEM_BYTES) + _clipped(name.suffix, _SUFFIX_BYTES))


def _clipped(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")


def print_data(values: Iterable[object]) -> None:
    """Print the data of an answer as JSON."""
    for value in values:
        echo(escaped(json.dumps(value, indent=2, ensure_ascii=False)))


def keep_files(reply: AgentReply, folder: Path | None) -> None:
    """Save the files of an answer in a folder, or name them if it is None.

    Raises:
        ConfigurationError: The folder or a file cannot be written.
    """
    if folder is not None:
        for path in save(reply.files, folder):
            note(f"saved {path}")
    for file in reply.files:
        if folder is None or file.content is None:
            note(f"file {_about(file)}")


def _about(file: File) -> str:
    size = file.url or f"{len(file.content or b''):,} bytes"
    return ", ".join(filter(None, (file.filename or "unnamed", file.media_type, size)))
