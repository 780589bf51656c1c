"""Converts a request to a message to Claude Code."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from a2a_adapters import AgentRequest, File, InvalidInputError
from a2a_adapters.plugin import as_text

if TYPE_CHECKING:
    from a2a_adapters import Part

_IMAGES = {"image/gif", "image/jpeg", "image/png", "image/webp"}


def as_prompt(request: AgentRequest) -> list[dict[str, Any]]:
    """Return the request as content blocks; data parts become JSON text.

    Raises:
        InvalidInputError: It has a file that models do not support.
    """
    return [_block(part) for part in request.parts]


def _block(part: Part) -> dict[str, Any]:
    if not isinstance(part, File):
        return {"type": "text", "text": as_text([part])}
    media_type = part.guess_media_type()
    if media_type.startswith("text/"):
        source = {"type": "text", "media_type": "text/plain", "data": _text(part)}
        return {"type": "document", "source": source, "title": part.filename or "document"}
    if media_type not in _IMAGES | {"application/pdf"}:
        raise InvalidInputError(f"files of type {media_type or 'unknown'} are not supported")
    data = base64.b64encode(part.received()).decode()
    source = {"type": "base64", "media_type": media_type, "data": data}
    return {"type": "image" if media_type in _IMAGES else "document", "source": source}


def _text(file: File) -> str:
    return file.received().decode(errors="replace")
