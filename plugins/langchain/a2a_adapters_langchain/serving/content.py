"""Converts between message parts and LangChain's messages, content blocks and results."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.prompt_values import PromptValue

from a2a_adapters import AgentRequest, Data, File, Output, Part, Text
from a2a_adapters.plugin import ReasoningFilter, Turn, as_output, as_text, without_reasoning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters_langchain.serving.schema import Schema

MESSAGES = "messages"
"""The key of the messages in a state, unless it has others."""

_MEDIA = ("image", "audio", "video")
_FILES = (*_MEDIA, "file")
_NO_FILES = {"text", "reasoning", "thinking", "tool_use", "tool_call_chunk", "input_json_delta"}


def human_message(parts: Sequence[Part]) -> HumanMessage:
    """Convert parts of the caller to a message; data becomes JSON text.

    Raises:
        InvalidInputError: A file is given by URL, which a model's library would fetch.
    """
    for part in parts:
        if isinstance(part, File):
            part.received()
    return HumanMessage(_content(parts))


def history_messages(request: AgentRequest) -> list[BaseMessage]:
    """Return the earlier turns of the conversation as messages."""
    return [_turn_message(turn) for turn in request.history if turn.parts]


def _turn_message(turn: Turn) -> BaseMessage:
    kind = HumanMessage if turn.role == "user" else AIMessage
    return kind(_content([_received(part) for part in turn.parts]))


def _received(part: Part) -> Part:
    """Return a part of an earlier turn; a file given by URL becomes text."""
    if isinstance(part, File) and part.content is None:
        return Text(as_text([part]))
    return part


def _content(parts: Sequence[Part]) -> str | list[str | dict[Any, Any]]:
    if any(isinstance(part, File) for part in parts):
        return [to_block(part) for part in parts]
    return as_text(parts)  # every model accepts a string, but not every model accepts blocks


def message_parts(message: BaseMessage) -> list[Part]:
    """Return the text and the files of a message in their order, then what else it has."""
    return [*said_parts(message), *calls_of(message)]


def said_parts(message: BaseMessage) -> list[Part]:
    """Return the text and the files of a message in their order, then its data."""
    if _has_no_files(message):
        text = without_reasoning(str(message.text))
        return [*([Text(text)] if text else []), *_data(message)]
    parts: list[Part] = []
    said, reasoning = "", ReasoningFilter()
    for block in message.content_blocks:
        if block["type"] == "text":
            said += reasoning.add(block["text"])
        elif file := from_block(dict(block)):
            parts += [Text(said), file] if said else [file]
            said = ""
    said += reasoning.rest()
    return [*parts, *([Text(said)] if said else []), *_data(message)]


def has_text_behind_files(parts: Sequence[Part]) -> bool:
    """Whether the order of text and files says something."""
    kinds = [type(part) for part in parts]
    return File in kinds and Text in kinds[kinds.index(File) :]


def message_extras(message: BaseMessage) -> list[Part]:
    """Return the files, the data of a remote agent and the tool calls of a message."""
    return [part for part in message_parts(message) if not isinstance(part, Text)]


def calls_of(message: BaseMessage) -> list[Data]:
    """Return the tool calls of a message."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    shown = [{"id": call["id"], "name": call["name"], "args": call["args"]} for call in calls]
    return [Data({"tool_calls": shown})] if shown else []


def _data(message: BaseMessage) -> list[Data]:
    """Return the data of a message; its text counts as data if there is no other."""
    if isinstance(message.content, str):
        return []
    found = [
        Data(block["value"]["data"])
        for block in message.content
        if isinstance(block, dict) and block.get("type") == "non_standard" and _is_data(block)
    ]
    return [] if as_text(found) == message.text else found


def _is_data(block: Mapping[str, Any]) -> bool:
    value = block.get("value")
    return isinstance(value, Mapping) and value.get("type") == "data"


def is_of_model(message: AIMessage) -> bool:
    """Whether a model made the message: messages of nodes have no id or a UUID."""
    if message.id is None:
        return False
    try:
        uuid.UUID(message.id)
    except ValueError:
        return True
    return False


def _has_no_files(message: BaseMessage) -> bool:
    """Whether the message certainly has no files; much cheaper than normalising its content."""
    return isinstance(message.content, str) or all(
        isinstance(block, str) or block.get("type") in _NO_FILES for block in message.content
    )


def to_block(part: Part) -> dict[Any, Any]:
    """Convert a part to a content block; data becomes JSON text."""
    if not isinstance(part, File):
        return {"type": "text", "text": as_text([part])}
    media_type = part.guess_media_type()
    family = media_type.partition("/")[0]
    block = {"type": family if family in _MEDIA else "file", "mime_type": media_type}
    if part.content is not None:
        block["base64"] = base64.b64encode(part.content).decode()
    else:
        block["url"] = part.url or ""
    return {**block, "extras": {"filename": part.filename}} if part.filename else block


def from_block(block: dict[str, Any]) -> File | None:
    """Convert a content block to a file; None if it is not one."""
    if block["type"] not in _FILES:
        return None
    media_type = block.get("mime_type") or ""
    filename = (block.get("extras") or {}).get("filename") or ""
    if encoded := block.get("base64"):
        content = base64.b64decode(encoded)
        return File(content=content, media_type=media_type, filename=filename)
    if url := block.get("url"):
        return File(url=url, media_type=media_type, filename=filename)
    return None  # known by id to the model's provider only


def is_message_list(value: object) -> TypeGuard[list[BaseMessage]]:
    """Whether this is a list of one or more messages."""
    return isinstance(value, list) and bool(value) and isinstance(value[-1], BaseMessage)


def spoken(state: Mapping[str, Any]) -> str:
    """Return the key of the messages that contain the answer; "" if a state has none."""
    lists = [key for key, value in state.items() if is_message_list(value)]
    return MESSAGES if MESSAGES in lists else next(iter(lists), "")


def outputs(value: object, schema: Schema | None = None) -> list[Output]:
    """Convert the result of a runnable; [] for None and empty text.

    The last message stands for a list of messages. `schema` describes mappings; models and
    dataclasses have their own schemas.
    """
    if isinstance(value, Mapping) and is_message_list(value.get("messages")):
        value = value["messages"]
    if is_message_list(value):
        value = value[-1]
    match value:
        case PromptValue():
            value = value.to_string()
        case BaseMessage():
            value = message_parts(value) or None
        case Document():
            value = _document(value)
        case list() if value and all(isinstance(each, Document) for each in value):
            value = [_document(each) for each in value]
    output = as_output(value, schema=schema if isinstance(value, Mapping) else None)
    return [output] if output else []


def _document(document: Document) -> dict[str, Any]:
    content: dict[str, Any] = {"page_content": document.page_content, "metadata": document.metadata}
    return {"id": document.id, **content} if document.id else content
