"""Counts the fields in an untrusted protobuf message before it is parsed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message


def has_more_fields(wire: bytes, kind: type[Message], limit: int) -> bool:
    """Return whether an encoded protobuf message has more than `limit` fields, also nested.

    The fields of a malformed message are counted as far as possible; parsing will refuse it.
    """
    if len(wire) <= 2 * limit:  # a field has at least two bytes
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
                case _:  # groups, which A2A does not use
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
