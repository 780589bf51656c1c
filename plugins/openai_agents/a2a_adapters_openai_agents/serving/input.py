"""Converts a request to the agent's input."""

from __future__ import annotations

import base64
import mimetypes
from typing import TYPE_CHECKING

from openai.types.responses import (
    EasyInputMessageParam,
    ResponseInputContentParam,
    ResponseInputFileParam,
    ResponseInputImageParam,
    ResponseInputTextParam,
)

from a2a_adapters import AgentRequest, File, InvalidInputError
from a2a_adapters.plugin import as_text

if TYPE_CHECKING:
    from a2a_adapters import Part


def as_message(request: AgentRequest) -> EasyInputMessageParam:
    """Return the request as a user message; data parts become JSON text.

    Raises:
        InvalidInputError: The message is empty, or has a file given by URL.
    """
    if not as_text(request.parts).strip():
        raise InvalidInputError("the message is empty")
    if not any(isinstance(part, File) for part in request.parts):
        return {"role": "user", "content": as_text(request.parts)}
    return {"role": "user", "content": [_content(part) for part in request.parts]}


def _content(part: Part) -> ResponseInputContentParam:
    if not isinstance(part, File):
        return ResponseInputTextParam(type="input_text", text=as_text([part]))
    media_type = part.guess_media_type()
    address = f"data:{media_type};base64,{base64.b64encode(part.received()).decode()}"
    if media_type.startswith("image/"):
        return ResponseInputImageParam(type="input_image", image_url=address, detail="auto")
    name = part.filename or f"file{mimetypes.guess_extension(media_type) or ''}"
    return ResponseInputFileParam(type="input_file", file_data=address, filename=name)
