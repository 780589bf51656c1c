"""From what a function returns or yields to agent events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import is_dataclass, replace

from pydantic import BaseModel

from a2a_adapters import AgentEvent, Data, File, InputRequired, Output, Part, Text, TextDelta
from a2a_adapters_functions.serving.schema import EVENTS, PARTS, Results, schema_of_class


def returned_events(value: object, results: Results | None = None) -> Sequence[AgentEvent]:
    """Return the events of a returned value: a value, or a list of parts and events.

    Args:
        value: The value.
        results: Its declared type.
    """
    if isinstance(value, list | tuple) and value and all(_is_ours(item) for item in value):
        return [event for item in value for event in returned_events(item)]
    if isinstance(value, str):
        return (Output((Text(value),), name="answer"),)
    if isinstance(value, InputRequired):
        # A function that has returned cannot be continued, only called again.
        return (replace(value, durable=True),)
    return () if value is None else (event_of(value, results),)


def event_of(value: object, results: Results | None = None) -> AgentEvent:
    """Return the event of one yielded value."""
    if isinstance(value, str):
        return TextDelta(value)
    if isinstance(value, EVENTS):
        return value
    return Output((part_of(value, results),))


def part_of(value: object, results: Results | None = None) -> Part:
    """Return a value as a part: bytes as a file, anything else as data with its schema."""
    if isinstance(value, PARTS):
        return value
    if isinstance(value, bytes):
        return File(content=value, media_type="application/octet-stream")
    if isinstance(value, BaseModel) or is_dataclass(value):
        return Data(value, schema=schema_of_class(value.__class__))
    return results.part(value) if results else Data(value)


def _is_ours(value: object) -> bool:
    return isinstance(value, (*EVENTS, *PARTS))
