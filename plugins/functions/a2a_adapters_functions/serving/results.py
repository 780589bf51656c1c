"""From what a function returns or yields to agent events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel

from a2a_adapters import (
    AgentEvent,
    AuthRequired,
    Data,
    File,
    InputRequired,
    Output,
    Part,
    Progress,
    Rejected,
    Reply,
    TaskMetadata,
    Text,
    TextDelta,
    ToolCall,
    ToolResult,
)

_EVENTS = (
    TextDelta,
    Output,
    TaskMetadata,
    Progress,
    ToolCall,
    ToolResult,
    InputRequired,
    AuthRequired,
    Rejected,
    Reply,
)


def returned_events(value: object) -> Sequence[AgentEvent]:
    """Return the events of a returned value: a value, or a list of parts and events."""
    if isinstance(value, list | tuple) and value and all(_is_ours(item) for item in value):
        return [event for item in value for event in returned_events(item)]
    if isinstance(value, str):
        return (Output((Text(value),), name="answer"),)
    if isinstance(value, InputRequired):
        # A function that has returned cannot be continued, only called again.
        return (replace(value, durable=True),)
    return () if value is None else (event_of(value),)


def event_of(value: object) -> AgentEvent:
    """Return the event of one yielded value."""
    if isinstance(value, str):
        return TextDelta(value)
    if isinstance(value, _EVENTS):
        return value
    return Output((part_of(value),))


def part_of(value: object) -> Part:
    """Return a value as a part: bytes as a file, anything else as data."""
    if isinstance(value, Text | File | Data):
        return value
    if isinstance(value, bytes):
        return File(content=value, media_type="application/octet-stream")
    if isinstance(value, BaseModel):
        return Data(value, schema=type(value).model_json_schema())
    return Data(value)


def _is_ours(value: object) -> bool:
    return isinstance(value, (*_EVENTS, Text, File, Data))
