"""Converts between crewai's messages and those of a remote agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from a2a_adapters import File, Part, Text, TokenUsage
from a2a_adapters.plugin import dialogue

if TYPE_CHECKING:
    from crewai.utilities.types import LLMMessage


def to_parts(messages: str | Sequence[LLMMessage]) -> list[Part]:
    """Convert a model's input to the parts of one message."""
    if isinstance(messages, str):
        return [Text(messages)]
    return dialogue((message["role"].title(), _parts(message)) for message in messages)


def _parts(message: LLMMessage) -> list[Part]:
    content = message.get("content") or ""
    if not isinstance(content, str):  # a list of blocks
        content = "\n".join(filter(None, (block.get("text") for block in content)))
    return [Text(content), *to_files(message.get("files") or {})]


def to_files(files: Mapping[str, Any]) -> list[File]:
    """Convert crewai's input files to parts."""
    return [
        File(content=file.read(), filename=file.filename or name, media_type=file.content_type)
        for name, file in files.items()
    ]


def usage_of(usage: TokenUsage | None) -> dict[str, int]:
    """Return the token usage of an answer under crewai's names; empty if it is not reported."""
    if usage is None:
        return {}
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
    }
