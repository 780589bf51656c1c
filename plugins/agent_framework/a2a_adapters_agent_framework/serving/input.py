"""Converts a request to the message of a run."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agent_framework import Content, Message
from pydantic import PydanticUserError, TypeAdapter, ValidationError

from a2a_adapters import AgentRequest, Data, File, InvalidInputError
from a2a_adapters.plugin import as_text

if TYPE_CHECKING:
    from a2a_adapters import Part


def as_message(request: AgentRequest) -> Message:
    """Return the request as a user's message; data parts become JSON text."""
    return Message("user", [_content(part) for part in request.parts])


def as_object(request: AgentRequest, kind: type) -> object:
    """Return the only data part of a request, or else its text, as an object of a type.

    Raises:
        InvalidInputError: It is not of this type.
    """
    values = [part.value for part in request.parts if isinstance(part, Data)]
    is_data = len(values) == len(request.parts) == 1
    return coerced(values[0] if is_data else as_text(request.parts), kind)


def coerced(value: object, kind: Any) -> object:
    """Return a value as an object of a type; a text may also be its JSON.

    Raises:
        InvalidInputError: It is not of this type.
    """
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(kind)
    except PydanticUserError:
        raise InvalidInputError("the agent takes a value that messages cannot have") from None
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        if isinstance(value, str):
            with suppress(ValidationError):
                return adapter.validate_json(value)
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        fault = f"{place}: {first['msg']}" if place else first["msg"]
        raise InvalidInputError(f"The message does not fit: {fault}.") from None


def _content(part: Part) -> Content:
    if not isinstance(part, File):
        return Content.from_text(as_text([part]))
    # Bytes only: the framework or the provider would fetch a URL.
    return Content.from_data(part.received(), part.guess_media_type(), name=part.filename or None)
