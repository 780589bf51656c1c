"""Converts a request to the message of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.genai.types import Blob, Content
from google.genai.types import Part as GenaiPart

from a2a_adapters import AgentRequest, File
from a2a_adapters.plugin import as_text

if TYPE_CHECKING:
    from a2a_adapters import Part


def as_message(request: AgentRequest) -> Content:
    """Return the request as a user's message; data parts become JSON text."""
    return Content(role="user", parts=[_part(part) for part in request.parts])


def _part(part: Part) -> GenaiPart:
    if not isinstance(part, File):
        return GenaiPart(text=as_text([part]))
    # Bytes only: the provider would fetch a URL.
    media_type, filename = part.guess_media_type(), part.filename or None
    blob = Blob(data=part.received(), mime_type=media_type, display_name=filename)
    return GenaiPart(inline_data=blob)
