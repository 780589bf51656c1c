"""Texts of the agent for display: printable, bounded, and without the working folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from a2a_adapters.plugin import as_json

if TYPE_CHECKING:
    from a2a_adapters.plugin import JSON

_LENGTH = 16_000


def shown(text: str, folder: str) -> str:
    """Return a text for a question."""
    seen = _relative(text, folder)
    seen = "".join(c if c.isprintable() or c in "\n\t" else " " for c in seen)
    rest = len(seen) - _LENGTH
    return seen if rest <= 0 else f"{seen[:_LENGTH]}\n({rest} more characters)"


def relative(value: object, folder: str) -> JSON:
    """Return any value as JSON whose paths are relative to the folder."""
    return _mapped(as_json(value), folder)


def _mapped(value: JSON, folder: str) -> JSON:
    match value:
        case str():
            return _relative(value, folder)
        case Mapping():
            return {key: _mapped(each, folder) for key, each in value.items()}
        case list():
            return [_mapped(each, folder) for each in value]
    return value


def _relative(text: str, folder: str) -> str:
    return text.replace(f"{folder}/", "").replace(folder, ".") if folder != "/" else text
