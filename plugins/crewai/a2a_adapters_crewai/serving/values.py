"""Values of any kind as JSON, and parts as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from pydantic_core import to_json, to_jsonable_python

from a2a_adapters import JSON, Data, File, Part


def as_json(value: object) -> JSON:
    """Return what of a value can be sent; objects of any kind may come here."""
    return cast("JSON", to_jsonable_python(value, serialize_unknown=True, inf_nan_mode="null"))


def text_of(parts: Sequence[Part]) -> str:
    """Return parts as text: data as JSON, of files the names."""
    return "\n".join(_text(part) for part in parts).strip()


def _text(part: Part) -> str:
    if isinstance(part, Data):
        return to_json(part.value).decode()
    return f"[file {part.filename or part.url}]" if isinstance(part, File) else part.text


def is_internal(source: object) -> bool:
    """Whether it is one of the flows that crewai itself is built of."""
    return type(source).__module__.startswith("crewai.")
