"""Finished messages as text, data and files."""

from __future__ import annotations

import base64

from autogen_agentchat.messages import (
    BaseChatMessage,
    MultiModalMessage,
    StructuredMessage,
    ToolCallSummaryMessage,
)
from pydantic import BaseModel

from a2a_adapters import Data, File, Output, Part, without_reasoning

_TOOL_FAILED = "The tool {} failed."


def text_of(message: BaseChatMessage) -> str:
    """Return a message's text, without reasoning and what a tool's exception said."""
    if isinstance(message, StructuredMessage):
        return ""
    if isinstance(message, MultiModalMessage):
        items = [item for item in message.content if isinstance(item, str)]
        return without_reasoning("\n".join(items))
    text = message.to_text()
    if isinstance(message, ToolCallSummaryMessage):
        for result in message.results:
            if result.is_error and result.content:
                text = text.replace(result.content, _TOOL_FAILED.format(result.name))
    return without_reasoning(text)


def output_of(message: BaseChatMessage) -> Output | None:
    """Return what of a message is not text: structured content, with its schema, or images."""
    parts: list[Part] = []
    if isinstance(message, StructuredMessage) and isinstance(message.content, BaseModel):
        content = message.content
        schema = type(content).model_json_schema()
        parts.append(Data(content.model_dump(mode="json"), schema=schema))
    elif isinstance(message, MultiModalMessage):
        parts += [
            File(content=base64.b64decode(item.to_base64()), media_type="image/png")
            for item in message.content
            if not isinstance(item, str)
        ]
    return Output(parts, metadata={"source": message.source}) if parts else None
