"""Converts a request to the message of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_framework import Content, Message

from a2a_adapters import AgentRequest, File, InvalidInputError, as_text

if TYPE_CHECKING:
    from a2a_adapters import Part


def as_message(request: AgentRequest) -> Message:
    """Return the request as a user's message; data parts become JSON text.

    Raises:
        InvalidInputError: The message is empty.
    """
    if not as_text(request.parts).strip():
        raise InvalidInputError("the message is empty")
    return Message("user", [_content(part) for part in request.parts])


def _content(part: Part) -> Content:
    if not isinstance(part, File):
        return Content.from_text(as_text([part]))
    # Bytes only: the framework or the provider would fetch a URL.
    return Content.from_data(part.received(), part.guess_media_type(), name=part.filename or None)
