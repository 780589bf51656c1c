"""Finished messages as text, data and files."""

from __future__ import annotations

import base64
import re

from autogen_agentchat.messages import (
    BaseChatMessage,
    MultiModalMessage,
    StructuredMessage,
    ToolCallSummaryMessage,
)
from autogen_core import Image
from pydantic import BaseModel

from a2a_adapters import Data, File, Output, Part, Text
from a2a_adapters.plugin import ReasoningFilter, without_reasoning

# The possible beginning of a trailing TERMINATE, and a complete one.
_BEGINNING = re.compile(
    r"\s*(?:(?<!\S)T(?:E(?:R(?:M(?:I(?:N(?:A(?:T(?:E[.!]?\s*)?)?)?)?)?)?)?)?)?$"
)
_TERMINATE = re.compile(r"\s*(?<!\S)TERMINATE[.!]?\s*$")

_TOOL_FAILED = "The tool {} failed."


def text_of(message: BaseChatMessage) -> str:
    """Return a message's text, without reasoning and the texts of tools' exceptions."""
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
    """Return the structured content of a message, with its schema, or its images."""
    parts: list[Part] = []
    if isinstance(message, StructuredMessage) and isinstance(message.content, BaseModel):
        content = message.content
        schema = type(content).model_json_schema()
        parts.append(Data(content.model_dump(mode="json"), schema=schema))
    elif isinstance(message, MultiModalMessage):
        parts += [image_file(item) for item in message.content if isinstance(item, Image)]
    return Output(parts, metadata={"source": message.source}) if parts else None


def mixed_output(message: BaseChatMessage) -> Output | None:
    """Return the texts and images of a message in order, if a text comes after an image."""
    items = message.content if isinstance(message, MultiModalMessage) else []
    is_image = [isinstance(item, Image) for item in items]
    if is_image == sorted(is_image):
        return None
    parts = [image_file(item) if isinstance(item, Image) else Text(item) for item in items]
    return Output(parts, metadata={"source": message.source})


def image_file(image: Image) -> File:
    """Return an image as a file."""
    return File(content=base64.b64decode(image.to_base64()), media_type="image/png")


class TerminateFilter:
    """Leaves reasoning, and the TERMINATE that ends a team's work, out of a streamed message."""

    def __init__(self) -> None:
        self._reasoning = ReasoningFilter()
        self._last = self._held = ""

    def add(self, chunk: str) -> str:
        """Add a chunk and return the text that is certain to be part of the answer."""
        text = self._last + self._held + self._reasoning.add(chunk)
        found = _BEGINNING.search(text, len(self._last))
        cut = found.start() if found else len(text)
        sent, self._held = text[len(self._last) : cut], text[cut:]
        self._last = sent[-1:] or self._last
        return sent

    def rest(self) -> str:
        """Return the end of the message, without the word."""
        text = self._last + self._held + self._reasoning.rest()
        found = _TERMINATE.search(text, len(self._last))
        return text[len(self._last) : found.start() if found else None]
