"""Prints the parts of an answer that are not text, and saves its files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from a2a_adapters.cli.terminal import echo, escaped, note
from a2a_adapters_client.files import save

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from a2a_adapters import AgentReply
    from a2a_adapters.contract.parts import File


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
