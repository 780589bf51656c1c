"""What crewai sends to a model, and what it makes of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from a2a_adapters import AgentReply, File, Part, Text

if TYPE_CHECKING:
    from crewai.utilities.types import LLMMessage

_SPEAKERS = {"system": "System", "user": "User", "assistant": "Assistant", "tool": "Tool"}


def to_parts(messages: str | Sequence[LLMMessage]) -> list[Part]:
    """Return messages as the parts of one.

    A2A has no roles within a message: in a dialogue each message's text begins with who said it.
    """
    if isinstance(messages, str):
        return [Text(messages)]
    is_dialogue = any(message["role"] != "user" for message in messages)
    parts: list[Part] = []
    for message in messages:
        text = _text(message.get("content"))
        parts.append(Text(f"{_SPEAKERS[message['role']]}: {text}" if is_dialogue else text))
        parts += to_files(message.get("files") or {})
    return parts


def to_files(files: Mapping[str, Any]) -> list[File]:
    """Return crewai's input files as parts."""
    return [
        File(content=file.read(), filename=file.filename or name, media_type=file.content_type)
        for name, file in files.items()
    ]


def usage_of(reply: AgentReply) -> dict[str, int]:
    """Return the tokens an answer took under crewai's names; nothing if the agent does not tell."""
    if (usage := reply.usage) is None:
        return {}
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
    }


def _text(content: object) -> str:
    """Return a message's text; content may be a list of blocks."""
    if isinstance(content, str) or content is None:
        return content or ""
    blocks = content if isinstance(content, Sequence) else [content]
    texts = (block.get("text", "") for block in blocks if isinstance(block, Mapping))
    return "\n".join(filter(None, texts))
