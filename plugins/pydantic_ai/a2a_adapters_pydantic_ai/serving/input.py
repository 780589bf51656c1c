"""Converts a request to the prompt of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pydantic_ai import BinaryContent

from a2a_adapters import File
from a2a_adapters.plugin import as_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters import Part

Prompt: TypeAlias = "str | list[str | BinaryContent]"


def as_prompt(parts: Sequence[Part]) -> Prompt:
    """Return the parts of a message as a user prompt; data parts become JSON text.

    Raises:
        InvalidInputError: It has a file given by URL.
    """
    if not any(isinstance(part, File) for part in parts):
        return as_text(parts)
    return [_content(part) for part in parts]


def _content(part: Part) -> str | BinaryContent:
    if not isinstance(part, File):
        return as_text([part])
    # Bytes only: the framework or the provider would fetch a URL.
    return BinaryContent(part.received(), media_type=part.guess_media_type())
