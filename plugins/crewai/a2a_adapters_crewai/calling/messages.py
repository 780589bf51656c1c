"""What crewai sends to a model, and what it makes of an answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from a2a_adapters import AgentReply, Data, File, Part, Text

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


def answer_text(reply: AgentReply) -> str:
    """Return an answer as text: its data as JSON, of its files the names."""
    texts = [reply.text, data_text(reply)]
    texts += [f"(A file: {file.filename or file.url or file.media_type})" for file in reply.files]
    return "\n".join(filter(None, texts))


def data_text(reply: AgentReply) -> str:
    """Return the data of an answer as JSON, a value per line."""
    return "\n".join(to_json(part.value).decode() for part in _data_parts(reply.parts))


def usage_of(reply: AgentReply) -> dict[str, int]:
    """Return the tokens an answer took under crewai's names; nothing if the agent does not tell."""
    match reply.metadata.get("usage"):
        case {"input_tokens": int(sent), "output_tokens": int(got), "total_tokens": int(total)}:
            return {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": total}
        case _:
            return {}


def _data_parts(parts: Iterable[Part]) -> Iterable[Data]:
    return (part for part in parts if isinstance(part, Data))


def _text(content: object) -> str:
    """Return a message's text; content may be a list of blocks."""
    if isinstance(content, str) or content is None:
        return content or ""
    blocks = content if isinstance(content, Sequence) else [content]
    texts = (block.get("text", "") for block in blocks if isinstance(block, Mapping))
    return "\n".join(filter(None, texts))
