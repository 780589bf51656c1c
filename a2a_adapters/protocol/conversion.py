"""Protocol messages and parts to plain ones and back (A2A 1.0, section 4.1)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from a2a.types import Message, Role
from a2a.types import Part as ProtocolPart
from google.protobuf import json_format, struct_pb2
from pydantic_core import to_jsonable_python

from a2a_adapters.contract.adapter import AgentRequest, CancelFlag
from a2a_adapters.contract.events import PROGRESS_EXTENSION
from a2a_adapters.contract.parts import JSON, Data, File, Part, Text
from a2a_adapters.protocol import states

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from a2a.server.agent_execution import RequestContext
    from a2a.types import SendMessageRequest, Task

DURABLE = "a2a_adapters.durable"
"""Key in the metadata of a question whose answer can be taken after a restart too."""

ARTIFACTS = "a2a_adapters.artifacts"
"""Key in the same place: how many artifacts the task had."""

_SCHEMA_KEY = "json_schema"
_JSON_MEDIA_TYPE = "application/json"
_EXACT = 2.0**53


def agent_request(
    context: RequestContext, context_id: str, cancelled: CancelFlag, offered: frozenset[str]
) -> AgentRequest:
    """Return what a2a-sdk knows of a request as an `AgentRequest`, without history.

    Of the extensions that the caller asks for it holds those in `offered`.
    """
    message = context.message or Message()
    configuration = context.configuration
    question = question_of(context)
    said_of_message = metadata_of(message)
    extensions = context.requested_extensions.union(message.extensions)
    return AgentRequest(
        parts=message_parts(message),
        message=message,
        task_id=context.task_id or "",
        context_id=context_id,
        owner=context.call_context.user.user_name,
        metadata=context.metadata | said_of_message,
        accepted_output_modes=tuple(configuration.accepted_output_modes) if configuration else (),
        extensions=frozenset(extensions & offered),
        wants_progress=PROGRESS_EXTENSION in extensions,
        resuming=question is not None,
        resume_metadata=question_metadata(question) if question else {},
        cancelled=cancelled,
        others_wait=getattr(context, "others_wait", _none_known),  # our runtime's context tells
    )


async def _none_known() -> bool:
    """Tell that no other task is known to wait: a question must not keep its conversation for ever.

    On a2a-sdk's own server its task may be gone; a message to a new task gives it up.
    """
    return False


def question_of(context: RequestContext) -> Message | None:
    """Return the question that a message answers, None if it answers none."""
    task = context.current_task
    if task is None:
        return None
    if is_resumed(context):
        return answered_question(task)
    return task.status.message if task.status.state in states.INTERRUPTED else None


def is_resumed(context: RequestContext) -> bool:
    """Tell whether a process that is gone has begun to answer the message."""
    return getattr(context, "is_resumed", False)


def answered_question(task: Task) -> Message | None:
    """Return the question that the last message of a task's caller has answered."""
    before = task.history[-2] if len(task.history) > 1 else None
    return before if before is not None and before.role == Role.ROLE_AGENT else None


def is_durable(question: Message | None) -> bool:
    """Tell whether the answer to a question can be taken at any time."""
    return question is not None and DURABLE in question.metadata


def is_durable_question(task: Task | None) -> bool:
    """Tell whether the task waits for such an answer."""
    waits = task is not None and task.status.state in states.INTERRUPTED
    return waits and is_durable(task.status.message)  # type: ignore[union-attr]


def question_metadata(question: Message) -> dict[str, Any]:
    """Return what the agent attached to a question."""
    metadata = metadata_of(question)
    return {key: value for key, value in metadata.items() if key not in (DURABLE, ARTIFACTS)}


def message_parts(message: Message) -> tuple[Part, ...]:
    """Return the parts of a protocol message."""
    return tuple(map(from_protocol, message.parts))


def from_protocol(part: ProtocolPart) -> Part:
    """Return one protocol part as plain data."""
    if part.HasField("text") and not part.HasField("metadata"):
        return Text(part.text, part.media_type)
    metadata = struct_to_dict(part.metadata) if part.HasField("metadata") else {}
    match part.WhichOneof("content"):
        case "data":
            media_type = "" if part.media_type == _JSON_MEDIA_TYPE else part.media_type
            return Data(from_value(part.data), metadata=metadata, media_type=media_type)
        case "raw":
            return File(
                content=part.raw,
                media_type=part.media_type,
                filename=part.filename,
                metadata=metadata,
            )
        case "url":
            return File(
                url=part.url,
                media_type=part.media_type,
                filename=part.filename,
                metadata=metadata,
            )
        case _:
            return Text(part.text, part.media_type, metadata=metadata)


def to_protocol(parts: Iterable[Part]) -> list[ProtocolPart]:
    """Return parts as protocol parts.

    Raises:
        ValueError: A value cannot be expressed as JSON.
    """
    return [_to_protocol(part) for part in parts]


def agent_parts(parts: Sequence[Part]) -> tuple[Sequence[Part], list[ProtocolPart]]:
    """Return what an agent says as it can be sent, also as protocol parts.

    Halves of surrogate pairs, which cannot, become question marks.

    Raises:
        ValueError: A value cannot be expressed as JSON.
    """
    try:
        return parts, to_protocol(parts)
    except UnicodeEncodeError:
        whole = [_whole_characters(part) for part in parts]
        return whole, to_protocol(whole)


def agent_struct(values: Mapping[str, JSON]) -> struct_pb2.Struct:
    """Return what an agent says beside its parts as a protobuf struct.

    Halves of surrogate pairs become question marks, as in its parts.

    Raises:
        ValueError: A value cannot be expressed as JSON.
    """
    try:
        return to_struct(values)
    except UnicodeEncodeError:
        return to_struct(_whole_text(values))


def _whole_characters(part: Part) -> Part:
    part = replace(
        part,
        media_type=whole_characters(part.media_type),
        metadata=_whole_text(dict(part.metadata)),
    )
    match part:
        case Text():
            return replace(part, text=whole_characters(part.text))
        case File():
            return replace(part, filename=whole_characters(part.filename))
        case Data():
            return replace(part, value=_whole_text(part.value))


def _whole_text(value: Any) -> Any:
    """Return a value with whole characters in all its text, also in its keys."""
    match value:
        case str():
            return whole_characters(value)
        case dict():
            return {_whole_key(key): _whole_text(item) for key, item in value.items()}
        case list() | tuple():
            return [_whole_text(item) for item in value]
        case None | bool() | int() | float():
            return value
        case _:
            return _whole_text(to_jsonable_python(value))


def _whole_key(key: object) -> object:
    return whole_characters(key) if isinstance(key, str) else key


def whole_characters(text: str) -> str:
    """Return text with a question mark in the place of each half of a surrogate pair."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _to_protocol(part: Part) -> ProtocolPart:
    if type(part) is Text and not part.metadata:
        return ProtocolPart(text=part.text, media_type=part.media_type)
    metadata = dict(part.metadata)
    match part:
        case Text():
            result = ProtocolPart(text=part.text, media_type=part.media_type)
        case File(content=bytes() as content):
            result = ProtocolPart(raw=content, media_type=part.media_type, filename=part.filename)
        case File():
            result = ProtocolPart(url=part.url, media_type=part.media_type, filename=part.filename)
        case Data():
            result = ProtocolPart(
                data=to_value(part.value), media_type=part.media_type or _JSON_MEDIA_TYPE
            )
            if part.schema is not None:
                metadata[_SCHEMA_KEY] = part.schema
    if metadata:
        result.metadata.CopyFrom(to_struct(metadata))
    return result


def to_value(value: object) -> struct_pb2.Value:
    """Return `value` as a protobuf value.

    Raises:
        ValueError: It cannot be expressed as JSON.
    """
    plain = to_jsonable_python(value, inf_nan_mode="null")
    try:
        return json_format.ParseDict(plain, struct_pb2.Value())
    except json_format.ParseError as error:
        raise ValueError(str(error)) from error


def to_struct(values: Mapping[str, JSON]) -> struct_pb2.Struct:
    """Return a mapping as a protobuf struct.

    Raises:
        ValueError: A value cannot be expressed as JSON.
    """
    return to_value(values).struct_value


def metadata_of(message: Message | SendMessageRequest) -> dict[str, Any]:
    """Return the metadata of a message."""
    return struct_to_dict(message.metadata) if message.HasField("metadata") else {}


def struct_to_dict(struct: struct_pb2.Struct) -> dict[str, Any]:
    """Return a protobuf struct as a dict."""
    return {key: from_value(value) for key, value in struct.fields.items()}


def from_value(value: struct_pb2.Value) -> Any:
    """Return a protobuf value as JSON.

    Protobuf knows no integers: whole numbers come back as int, so that 3 does not become 3.0.
    """
    match value.WhichOneof("kind"):
        case "struct_value":
            return struct_to_dict(value.struct_value)
        case "list_value":
            return [from_value(item) for item in value.list_value.values]
        case "number_value":
            return _whole(value.number_value)
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case _:
            return None


def whole_numbers(value: Any) -> Any:
    """Return JSON with its whole numbers as int, as `from_value` has them."""
    match value:
        case float():
            return _whole(value)
        case dict():
            return {key: whole_numbers(item) for key, item in value.items()}
        case list():
            return [whole_numbers(item) for item in value]
        case _:
            return value


def _whole(number: float) -> float | None:
    """Return a number as JSON has it, which knows none that is not finite."""
    if abs(number) <= _EXACT:
        return int(number) if number.is_integer() else number
    return number if math.isfinite(number) else None
