"""The fields of `Task.generation` in A2A 1.1 as drafted, which a2a-sdk's messages do not have yet.

They are written as unknown fields, which protobuf keeps when it copies, stores and sends a message.
So they reach gRPC clients, storages and other processes; `bindings.preview` adds them to JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from google.protobuf.unknown_fields import UnknownFieldSet
from google.protobuf.wrappers_pb2 import Int64Value

if TYPE_CHECKING:
    from google.protobuf.message import Message

M = TypeVar("M", bound="Message")

_NUMBERS = {
    "Task": 7,
    "TaskStatusUpdateEvent": 5,
    "TaskArtifactUpdateEvent": 7,
    "GetTaskRequest": 4,
    "SendMessageConfiguration": 5,
}
"""The number of the field in each message: `generation`, `current_generation` of a request, and
`if_generation_match` of a configuration."""

_VARINT = 0
"""The wire type of integers."""


def drafted(message: Message) -> int | None:
    """Return the drafted field of a message; None if it is not set, or the message has none."""
    number = _NUMBERS.get(message.DESCRIPTOR.name)
    if number is None:
        return None
    if number in message.DESCRIPTOR.fields_by_number:  # of a later a2a-sdk
        return next(
            (value for field, value in message.ListFields() if field.number == number), None
        )
    found = None
    for field in UnknownFieldSet(message):  # type: ignore[attr-defined] # missing in its stubs
        if field.field_number == number and field.wire_type == _VARINT:
            found = field.data  # the last one counts
    return found if found is None or found < 1 << 63 else found - (1 << 64)


def set_drafted(message: Message, value: int) -> None:
    """Set the drafted field of a message."""
    number = _NUMBERS[message.DESCRIPTOR.name]
    encoded = Int64Value(value=value).SerializeToString()[1:] or b"\0"  # without its own number
    message.DiscardUnknownFields()
    message.MergeFromString(bytes([number << 3 | _VARINT]) + encoded)


def numbered(message: M, generation: int) -> M:
    """Return a copy of a task or an event with its generation."""
    copy = type(message)()
    copy.CopyFrom(message)
    set_drafted(copy, generation)
    return copy
