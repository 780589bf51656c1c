"""Validation of JSON against the protobuf messages of A2A 1.0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.api import field_behavior_pb2  # type: ignore[import-untyped]
from google.protobuf.descriptor import FieldDescriptor

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEEPEST = 12
_ITEMS = 200
_FREE = "google.protobuf."
"""Messages with free-form JSON: Struct, Value, Timestamp."""

_TYPES: dict[int, tuple[type | tuple[type, ...], str]] = {
    FieldDescriptor.TYPE_STRING: (str, "a string"),
    FieldDescriptor.TYPE_BYTES: (str, "a base64 string"),
    FieldDescriptor.TYPE_BOOL: (bool, "true or false"),
    FieldDescriptor.TYPE_INT32: ((int, float, str), "a number"),
    FieldDescriptor.TYPE_ENUM: (str, "an enum name"),
}


def missing(value: Any, message: Any, where: str = "", depth: int = 0) -> Iterator[str]:
    """Yield JSON pointers to required fields that are missing or empty (section 5.7)."""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return
    for field in message.fields:
        place, content = _field(value, field, where)
        if _is_required(field) and _is_empty(content):
            yield place
        for inner, at in _inner(content, field, place):
            yield from missing(inner, _message_of(field), at, depth + 1)


def wrong(value: Any, message: Any, where: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield JSON pointers to values of the wrong type, with the expected type."""
    if not isinstance(value, dict):
        yield where, "an object"
        return
    if depth > _DEEPEST:
        return
    for field in message.fields:
        place, content = _field(value, field, where)
        if content is None:
            continue
        expected = _container(field)
        if expected is not None and not isinstance(content, expected):
            yield place, "a list" if expected is list else "an object"
            continue
        if (scalar := _scalar_type(field)) is not None:
            yield from _wrong_scalars(content, scalar, place)
        for inner, at in _inner(content, field, place):
            yield from wrong(inner, _message_of(field), at, depth + 1)


def _container(field: FieldDescriptor) -> type | None:
    """Return the container type of a field, None for scalars and messages."""
    if _is_map(field):
        return dict
    if _is_repeated(field):
        return list
    is_struct = field.message_type and field.message_type.full_name == f"{_FREE}Struct"
    return dict if is_struct else None


def _scalar_type(field: FieldDescriptor) -> int | None:
    """Return the type of a field's scalars, None if it holds messages."""
    if field.message_type is None:
        return int(field.type)
    return int(field.message_type.fields_by_name["value"].type) if _is_map(field) else None


def _wrong_scalars(content: Any, kind: int, place: str) -> Iterator[tuple[str, str]]:
    if kind not in _TYPES:
        return
    expected, kind_name = _TYPES[kind]
    for item, at in _items(content, place):
        if not isinstance(item, expected) or (isinstance(item, bool) and expected is not bool):
            yield at, kind_name


def _field(value: dict[str, Any], field: FieldDescriptor, where: str) -> tuple[str, Any]:
    name = field.json_name if field.json_name in value or field.name not in value else field.name
    return f"{where}/{name}", value.get(name)


def _inner(content: Any, field: FieldDescriptor, place: str) -> Iterator[tuple[Any, str]]:
    """Yield the messages in a field with their JSON pointers."""
    message = _message_of(field)
    if message is None or content is None or message.full_name.startswith(_FREE):
        return
    if _is_repeated(field) and not isinstance(content, list | dict):
        return
    yield from _items(content, place) if _is_repeated(field) else [(content, place)]


def _items(content: Any, place: str) -> Iterator[tuple[Any, str]]:
    if isinstance(content, list):
        yield from ((item, f"{place}/{index}") for index, item in enumerate(content[:_ITEMS]))
    elif isinstance(content, dict):
        yield from ((item, f"{place}/{key}") for key, item in list(content.items())[:_ITEMS])
    else:
        yield content, place


def _message_of(field: FieldDescriptor) -> Any:
    message: Any = field.message_type
    return message.fields_by_name["value"].message_type if _is_map(field) else message


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _is_repeated(field: FieldDescriptor) -> bool:
    if hasattr(field, "is_repeated"):
        return bool(field.is_repeated)
    label = field.label  # type: ignore[attr-defined] # protobuf 5 has no other way
    return bool(label == FieldDescriptor.LABEL_REPEATED)


def _is_required(field: FieldDescriptor) -> bool:
    behaviours = field.GetOptions().Extensions[field_behavior_pb2.field_behavior]
    return field_behavior_pb2.FieldBehavior.REQUIRED in behaviours


def _is_empty(content: Any) -> bool:
    """Return whether a value is empty; empty objects are valid, such as no capabilities."""
    return content is None or content == [] or (isinstance(content, str) and not content.strip())
