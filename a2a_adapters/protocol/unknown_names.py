"""Explains names of A2A 0.3, and other unknown ones, in requests of A2A 1.0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import ParseError

if TYPE_CHECKING:
    from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor

_CONFIG = "TaskPushNotificationConfig"
_NEW_NAMES = {
    ("SendMessageConfiguration", "pushNotificationConfig"): "taskPushNotificationConfig",
    ("SendMessageConfiguration", "blocking"): "returnImmediately, which means the opposite",
    (_CONFIG, "pushNotificationConfig"): "url, token and authentication beside taskId",
    (_CONFIG, "pushNotificationConfigId"): "id",
    (f"Get{_CONFIG}Request", "pushNotificationConfigId"): "id",
    (f"Delete{_CONFIG}Request", "pushNotificationConfigId"): "id",
    ("AuthenticationInfo", "schemes"): "scheme, a string",
    ("Part", "file"): "raw or url, with mediaType and filename beside it",
}
"""Fields of 0.3 that would be lost, by the message of 1.0 that would ignore them."""

_HARMLESS = {("SendMessageConfiguration", "blocking"): True}
"""Values of these fields that change nothing."""

_SHOWN = 40
"""Maximum length of a value in an error."""


def explain(params: object, kind: Any) -> None:
    """Check the names in a request that protobuf did not accept as it is.

    Args:
        params: The request, or a message in it.
        kind: The descriptor of its type.

    Raises:
        ParseError: An enum has an unknown value, or a field has another name in A2A 1.0.
    """
    if not isinstance(params, dict):
        return
    by_name = {name: f for f in kind.fields for name in (f.json_name, f.name)}
    for key, value in params.items():
        if (field := by_name.get(key)) is not None:
            for each in value if isinstance(value, list) else [value]:
                _explain_value(each, field)
        elif (new := _NEW_NAMES.get((kind.name, key))) and _HARMLESS.get((kind.name, key)) != value:
            raise ParseError(f"{key} is of A2A 0.3; in A2A 1.0 it is {new}")


def _explain_value(value: Any, field: FieldDescriptor) -> None:
    if field.enum_type is not None:
        if isinstance(value, str) and value not in field.enum_type.values_by_name:
            raise ParseError(_unknown(value, field.json_name, field.enum_type))
    elif field.message_type is not None and field.message_type.file.package != "google.protobuf":
        explain(value, field.message_type)


def _unknown(value: str, name: str, kind: EnumDescriptor) -> str:
    known = [each.name for each in kind.values if each.number]
    plain = value.upper().replace("-", "_")
    shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}..."
    for each in known:
        if each == plain or each.endswith(f"_{plain}"):
            return f"unknown {name} {shown!r}; in A2A 1.0 it is {each}"
    return f"unknown {name} {shown!r}; A2A 1.0 has {', '.join(known)}"
