"""Converts a request to the prompt of a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from a2a_adapters import AgentRequest, File, InvalidInputError
from a2a_adapters.plugin import as_text

if TYPE_CHECKING:
    from a2a_adapters import Part

_KINDS = {
    "image/gif": ("image", "gif"),
    "image/jpeg": ("image", "jpeg"),
    "image/png": ("image", "png"),
    "image/webp": ("image", "webp"),
    "application/msword": ("document", "doc"),
    "application/pdf": ("document", "pdf"),
    "application/vnd.ms-excel": ("document", "xls"),
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ("document", "xlsx"),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ("document", "docx"),
    "text/csv": ("document", "csv"),
    "text/html": ("document", "html"),
    "text/markdown": ("document", "md"),
    "text/plain": ("document", "txt"),
    "video/mp4": ("video", "mp4"),
    "video/mpeg": ("video", "mpeg"),
    "video/quicktime": ("video", "mov"),
    "video/webm": ("video", "webm"),
}
"""The kinds and formats of the framework's content blocks, by media type."""
_NAME = re.compile(r"[^\w \-()\[\]]+", re.ASCII)


def as_prompt(request: AgentRequest) -> list[dict[str, Any]]:
    """Return the request as content blocks; data parts become JSON text.

    Raises:
        InvalidInputError: It has a file that models do not support.
    """
    return [_block(part) for part in request.parts]


def _block(part: Part) -> dict[str, Any]:
    if not isinstance(part, File):
        return {"text": as_text([part])}
    media_type = part.guess_media_type()
    if media_type not in _KINDS:
        raise InvalidInputError(f"files of type {media_type or 'unknown'} are not supported")
    kind, form = _KINDS[media_type]
    block: dict[str, Any] = {"format": form, "source": {"bytes": part.received()}}
    if kind == "document":  # names with other characters are refused by some providers
        block["name"] = _NAME.sub("-", part.filename)[:200].strip() or "document"
    return {kind: block}
