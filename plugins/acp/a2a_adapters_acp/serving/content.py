"""Converts messages to ACP prompts."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, TypeAlias

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from a2a_adapters import AgentRequest, Data, File, InvalidInputError
from a2a_adapters.plugin import as_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acp.schema import PromptCapabilities

Block: TypeAlias = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)
"""A piece of a prompt."""


def check(request: AgentRequest) -> None:
    """Refuse messages that no agent supports.

    Raises:
        InvalidInputError: The message is empty, or refers to a file by URL.
    """
    if not any(isinstance(part, File | Data) or part.text.strip() for part in request.parts):
        raise InvalidInputError("send a text that says what to do")
    for part in request.parts:
        if isinstance(part, File):
            part.received()


def prompt_of(request: AgentRequest, can: PromptCapabilities) -> Sequence[Block]:
    """Convert a message to a prompt.

    Args:
        request: The message.
        can: The kinds of content that the agent supports besides text.

    Raises:
        InvalidInputError: The agent does not support one of the message's files.
    """
    return [
        _file_block(part, can)
        if isinstance(part, File)
        else TextContentBlock(type="text", text=as_text([part]))
        for part in request.parts
    ]


def _file_block(file: File, can: PromptCapabilities) -> Block:
    kind, content = file.guess_media_type(), file.received()
    encoded = base64.b64encode(content).decode()
    name = file.filename or "attachment"
    if kind.startswith("image/") and can.image:
        return ImageContentBlock(type="image", data=encoded, mime_type=kind)
    if kind.startswith("audio/") and can.audio:
        return AudioContentBlock(type="audio", data=encoded, mime_type=kind)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = None
    if can.embedded_context:
        uri = f"attachment:///{name}"
        contents = (
            BlobResourceContents(uri=uri, blob=encoded, mime_type=kind)
            if text is None
            else TextResourceContents(uri=uri, text=text, mime_type=kind)
        )
        return EmbeddedResourceContentBlock(type="resource", resource=contents)
    if text is None:
        raise InvalidInputError(f"this agent takes no files of the type {kind}")
    return TextContentBlock(type="text", text=f"The file {name}:\n\n{text}")
