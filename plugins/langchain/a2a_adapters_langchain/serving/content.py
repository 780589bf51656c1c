"""Parts to langchain-core's content blocks and messages, and back."""

from __future__ import annotations

import base64
import mimetypes
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from a2a_adapters import AgentRequest, Data, File, Part, Text, Turn, as_text, without_reasoning

if TYPE_CHECKING:
    from collections.abc import Sequence

_MEDIA = ("image", "audio", "video")
_FILES = (*_MEDIA, "file")
_NO_FILES = {"text", "reasoning", "thinking", "tool_use", "tool_call_chunk", "input_json_delta"}


def human_message(parts: Sequence[Part]) -> HumanMessage:
    """Return what the caller sent as a message; data is written as JSON text.

    Raises:
        InvalidInputError: A file is given by its address, which a model's library would fetch.
    """
    for part in parts:
        if isinstance(part, File):
            part.received()
    return HumanMessage(_content(parts))


def history_messages(request: AgentRequest) -> list[BaseMessage]:
    """Return the earlier turns of the conversation as messages."""
    return [_turn_message(turn) for turn in request.history if turn.parts]


def conversation(request: AgentRequest) -> list[BaseMessage]:
    """Return the earlier turns and the new message."""
    return [*history_messages(request), human_message(request.parts)]


def message_parts(message: BaseMessage) -> list[Part]:
    """Return all of a message but its reasoning."""
    text = without_reasoning(str(message.text))
    return [*([Text(text)] if text else []), *message_extras(message)]


def message_extras(message: BaseMessage) -> list[File | Data]:
    """Return what of a message is not text: its files, and the tools that it wants called."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    wanted = [{"id": call["id"], "name": call["name"], "args": call["args"]} for call in calls]
    return [*message_files(message), *([Data({"tool_calls": wanted})] if wanted else [])]


def message_files(message: BaseMessage) -> list[File]:
    """Return a message's images, sounds and other files."""
    if _is_plain(message):
        return []
    return [file for block in message.content_blocks if (file := from_block(dict(block)))]


def _is_plain(message: BaseMessage) -> bool:
    """Whether it surely has no files; far cheaper than normalising its content."""
    return isinstance(message.content, str) or all(
        isinstance(block, str) or block.get("type") in _NO_FILES for block in message.content
    )


def _turn_message(turn: Turn) -> BaseMessage:
    kind = HumanMessage if turn.role == "user" else AIMessage
    return kind(_content([_at_hand(part) for part in turn.parts]))


def _at_hand(part: Part) -> Part:
    """Return a part of an earlier turn; of a file elsewhere only how it is called."""
    if isinstance(part, File) and part.content is None:
        return Text(as_text([part]))
    return part


def _content(parts: Sequence[Part]) -> str | list[str | dict[Any, Any]]:
    if any(isinstance(part, File) for part in parts):
        return [to_block(part) for part in parts]
    return as_text(parts)  # every model takes a string, not every one takes blocks


def to_block(part: Part) -> dict[Any, Any]:
    """Return a part as a content block; data is written as JSON text."""
    if not isinstance(part, File):
        return {"type": "text", "text": as_text([part])}
    guess, _ = mimetypes.guess_type(part.filename or part.url or "")
    media_type = part.media_type or guess or "application/octet-stream"
    family = media_type.partition("/")[0]
    block = {"type": family if family in _MEDIA else "file", "mime_type": media_type}
    if part.content is not None:
        block["base64"] = base64.b64encode(part.content).decode()
    else:
        block["url"] = part.url or ""
    return {**block, "extras": {"filename": part.filename}} if part.filename else block


def from_block(block: dict[str, Any]) -> File | None:
    """Return a content block as a file, None if it is not one."""
    if block["type"] not in _FILES:
        return None
    media_type = block.get("mime_type") or ""
    filename = (block.get("extras") or {}).get("filename") or ""
    if encoded := block.get("base64"):
        content = base64.b64decode(encoded)
        return File(content=content, media_type=media_type, filename=filename)
    if url := block.get("url"):
        return File(url=url, media_type=media_type, filename=filename)
    return None  # known to the model's provider only, by an id
