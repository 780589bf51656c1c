"""Parts as text and values as JSON, for frameworks and models that take nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pydantic_core import from_json, to_json, to_jsonable_python

from a2a_adapters.contract.parts import JSON, Data, File, Part

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["as_json", "as_text", "tool_arguments"]


def as_text(parts: Iterable[Part]) -> str:
    """Return parts as text, one per line: data as JSON, of files how they are called.

    Raises:
        ValueError: Data cannot be expressed as JSON.
    """
    return "\n".join(map(_text, parts))


def _text(part: Part) -> str:
    match part:
        case Data(value=value):
            return to_json(value).decode()
        case File():
            name = part.filename or part.url or part.media_type or "without a name"
            return f"(A file: {name})"
        case _:
            return part.text


def as_json(value: object) -> JSON:
    """Return what of a value of any kind can be sent."""
    return cast("JSON", to_jsonable_python(value, serialize_unknown=True, inf_nan_mode="null"))


def tool_arguments(given: object) -> JSON:
    """Return a tool's arguments, which models write as JSON text, and sometimes badly."""
    if not isinstance(given, str):
        return as_json(given)
    try:
        return cast("JSON", from_json(given)) if given else None
    except ValueError:
        return given
