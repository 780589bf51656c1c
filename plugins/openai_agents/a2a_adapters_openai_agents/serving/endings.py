"""Stores the last events of a run as JSON."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from a2a_adapters import AgentEvent, Data, File, Output, Part, TaskMetadata, TextDelta, as_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters import JSON


def stored(event: AgentEvent) -> Mapping[str, JSON]:
    """Return an event in JSON.

    Raises:
        TypeError: No run ends with such an event.
    """
    match event:
        case TextDelta(text):
            return {"text": text}
        case TaskMetadata(values):
            return {"values": values}
        case Output(parts):
            return {"parts": [_stored_part(part) for part in parts], "metadata": event.metadata}
    raise TypeError(f"no run ends with {type(event).__name__}")


def restored(value: Mapping[str, Any]) -> AgentEvent:
    """Return the event that was stored."""
    if "text" in value:
        return TextDelta(value["text"])
    if "values" in value:
        return TaskMetadata(value["values"])
    parts = [_restored_part(part) for part in value["parts"]]
    return Output(parts, metadata=value["metadata"])


def _stored_part(part: Part) -> Mapping[str, JSON]:
    if isinstance(part, Data):
        return {"value": as_json(part.value), "schema": part.schema}
    if isinstance(part, File):
        content = base64.b64encode(part.received()).decode()
        return {"content": content, "media_type": part.media_type}
    raise TypeError(f"no run ends with {type(part).__name__}")


def _restored_part(part: Mapping[str, Any]) -> Part:
    if "value" in part:
        return Data(part["value"], schema=part["schema"])
    return File(content=base64.b64decode(part["content"]), media_type=part["media_type"])
