"""Converts the SDK's items to message parts for a remote agent."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from a2a_adapters import File, InvalidInputError, Part, Text, dialogue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_ROLES = {"user": "User", "assistant": "Assistant", "system": "System", "developer": "System"}


def as_parts(items: Sequence[Mapping[str, Any]], instructions: str | None) -> list[Part]:
    """Convert a model's input to the parts of one message."""
    turns = [turn for item in items if (turn := _turn(item))]
    if instructions:
        turns.insert(0, ("System", [Text(instructions)]))
    return dialogue(turns)


def _turn(item: Mapping[str, Any]) -> tuple[str, list[Part]] | None:
    """Return the speaker and parts of an item; None if it has no text, as a reasoning item."""
    match item:
        case {"role": str(role), "content": content}:
            return _ROLES.get(role, role), _parts(content)
        case {"type": "function_call", "name": name, "arguments": arguments}:
            return "Assistant", [Text(f"(calls {name} with {arguments})")]
        case {"type": "function_call_output", "output": output}:
            return "Tool", _parts(output)
        case _:
            return None


def _parts(content: str | Iterable[Mapping[str, Any]]) -> list[Part]:
    return [Text(content)] if isinstance(content, str) else [_part(each) for each in content]


def _part(content: Mapping[str, Any]) -> Part:
    match content:
        case {"type": "input_image", "image_url": str(address)}:
            return _file(address, "")
        case {"type": "input_file", "file_data": str(encoded)}:
            return _file(encoded, content.get("filename") or "")
        case {"type": "input_file", "file_url": str(address)}:
            return File(url=address, filename=content.get("filename") or "")
        case {"text": str(text)} | {"refusal": str(text)}:
            return Text(text)
        case _:  # a file that only the model's provider knows
            return Text(f"({content.get('type')}: {content.get('file_id') or 'not sent'})")


def _file(address: str, filename: str) -> File:
    head, comma, encoded = address.rpartition(",")
    if not head.startswith("data:") and "://" in address:
        return File(url=address, filename=filename)
    media_type = head.removeprefix("data:").partition(";")[0] if comma else ""
    try:
        content = base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise InvalidInputError("a file is not encoded as base64") from error
    return File(content=content, media_type=media_type, filename=filename)
