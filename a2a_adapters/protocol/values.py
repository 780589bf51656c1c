"""How many values there are in what a stranger sends, told before any of them is made.

A value of two bytes of JSON becomes hundreds in memory, and microseconds of work at each step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message


def has_more_values(json: bytes, limit: int) -> bool:
    """Tell whether a JSON text holds more than `limit` values, at the speed of `bytes.count`.

    Every value but the first follows one of `[`, `{` and `,`, which do not count in strings.
    """
    if len(json) <= limit or _count(json) <= limit:
        return False
    text = json.replace(b"\\\\", b"").replace(b'\\"', b"")
    if text.count(b'"') > 4 * (limit + 2):  # two for each value, and two for its key
        return True
    bare = b"0".join(text.split(b'"')[::2])  # a list of one text is not empty
    return _count(bare.translate(None, b" \t\r\n")) > limit


def _count(text: bytes) -> int:
    """Count the values of a text without strings; at least those of one with strings."""
    openings = text.count(b",") + text.count(b"[") + text.count(b"{")
    return 1 + openings - text.count(b"[]") - text.count(b"{}")


def has_more_fields(wire: bytes, kind: type[Message], limit: int) -> bool:
    """Tell whether an encoded protobuf message holds more than `limit` fields, nested ones too.

    What is not well-formed is counted as far as it is; parsing will refuse it.
    """
    if len(wire) <= 2 * limit:  # a field has two bytes at least
        return False
    count = 0
    todo: list[tuple[int, int, Descriptor]] = [(0, len(wire), kind.DESCRIPTOR)]  # type: ignore[list-item]
    while todo:
        at, end, descriptor = todo.pop()
        while at < end:
            count += 1
            if count > limit:
                return True
            tag, at = _varint(wire, at)
            match tag & 7:
                case 0:
                    _, at = _varint(wire, at)
                case 1:
                    at += 8
                case 2:
                    size, at = _varint(wire, at)
                    field = descriptor.fields_by_number.get(tag >> 3)
                    if field is not None and field.message_type is not None:
                        todo.append((at, min(at + size, end), field.message_type))
                    at += size
                case 5:
                    at += 4
                case _:  # groups, of which A2A has none
                    break
    return False


def _varint(wire: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(wire):
        byte = wire[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 63:
            break
    return value, at
