"""Converts protocol messages and parts into the contract's, and back (A2A 1.0, section 4.1)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from a2a.types import Message, Role
from a2a.types import Part as ProtocolPart
from google.protobuf import json_format, struct_pb2
from pydantic_core import to_jsonable_python

from a2a_adapters.contract.adapter import AgentRequest, CancelFlag
from a2a_adapters.contract.caller import CALLER, Caller
from a2a_adapters.contract.events import PROGRESS_EXTENSION
from a2a_adapters.contract.parts import JSON, Data, File, Part, Text
from a2a_adapters.contract.text import from_array
from a2a_adapters.protocol import states

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from a2a.server.agent_execution import RequestContext
    from a2a.types import SendMessageRequest, Task

DURABLE = "a2a_adapters.durable"
"""Key in a question's metadata that marks it as answerable after a restart."""

ARTIFACTS = "a2a_adapters.artifacts"
"""Key in a question's metadata for the number of artifacts that the task had."""

_SCHEMA_KEY = "json_schema"
_JSON_MEDIA_TYPE = "application/json"
_EXACT = 2.0**53


def agent_request(
    context: RequestContext, context_id: str, cancelled: CancelFlag, offered: frozenset[str]
) -> AgentRequest:
    """Convert a2a-sdk's request context into an `AgentRequest` without history.

    `offered` are the agent's extensions; others that the caller requests are ignored.
    """
    message = context.message or Message()
    configuration = context.configuration
    question = question_of(context)
    extensions = context.requested_extensions.union(message.extensions)
    metadata = metadata_of(message)
    call = context.call_context
    owner = call.user.user_name
    return AgentRequest(
        parts=message_parts(message),
        message=message,
        task_id=context.task_id or "",
        context_id=context_id,
        owner=owner,
        caller=call.state.get(CALLER) or Caller(owner=owner),
        metadata=context.metadata | metadata,
        accepted_output_modes=tuple(configuration.accepted_output_modes) if configuration else (),
        extensions=frozenset(extensions & offered),
        wants_progress=PROGRESS_EXTENSION in extensions,
        resuming=question is not None,
        resume_metadata=question_metadata(question) if question else {},
        cancelled=cancelled,
        others_wait=getattr(context, "others_wait", _none_wait),  # set by our runtime
    )


async def _none_wait() -> bool:
    """Assume that no other task waits, so that a question cannot block its conversation forever.

    On a2a-sdk's own server its task may no longer exist.
    """
    return False


def question_of(context: RequestContext) -> Message | None:
    """Return the question that a message answers, or None."""
    task = context.current_task
    if task is None:
        return None
    if is_resumed(context):
        return answered_question(task)
    return task.status.message if task.status.state in states.INTERRUPTED else None


def is_resumed(context: RequestContext) -> bool:
    """Return whether the message is answered again because its process died."""
    return getattr(context, "is_resumed", False)


def answered_question(task: Task) -> Message | None:
    """Return the question that the last message in a task's history answers, or None."""
    before = task.history[-2] if len(task.history) > 1 else None
    return before if before is not None and before.role == Role.ROLE_AGENT else None


def is_durable(question: Message | None) -> bool:
    """Return whether a question can be answered after a restart."""
    return question is not None and DURABLE in question.metadata


def is_durable_question(task: Task | None) -> bool:
    """Return whether the task waits for the answer to a durable question."""
    waits = task is not None and task.status.state in states.INTERRUPTED
    return waits and is_durable(task.status.message)  # type: ignore[union-attr]


def question_metadata(question: Message) -> dict[str, Any]:
    """Return the metadata that the agent attached to a question."""
    metadata = metadata_of(question)
    return {key: value for key, value in metadata.items() if key not in (DURABLE, ARTIFACTS)}


def message_parts(message: Message) -> tuple[Part, ...]:
    """Return the parts of a protocol message as the contract's."""
    return tuple(map(from_protocol, message.parts))


def from_protocol(part: ProtocolPart) -> Part:
    """Convert a protocol part into the contract's."""
    if part.HasField("text") and not part.HasField("metadata"):
        return Text(part.text, part.media_type)
    metadata = struct_to_dict(part.metadata) if part.HasField("metadata") else {}
    content: bytes | None = None
    url: str | None = None
    match part.WhichOneof("content"):
        case "data":
            media_type = "" if part.media_type == _JSON_MEDIA_TYPE else part.media_type
            return Data(from_value(part.data), metadata=metadata, media_type=media_type)
        case "raw":
            content = part.raw
        case "url":
            url = part.url
        case _:
            return Text(part.text, part.media_type, metadata=metadata)
    return File(
        content=content,
        url=url,
        media_type=part.media_type,
        filename=part.filename,
        metadata=metadata,
    )


def to_protocol(parts: Iterable[Part]) -> list[ProtocolPart]:
    """Convert parts into protocol parts.

    Raises:
        ValueError: A value cannot be serialised as JSON.
    """
    return [_to_protocol(part) for part in parts]


def agent_parts(parts: Sequence[Part]) -> tuple[Sequence[Part], list[ProtocolPart]]:
    """Return an agent's parts, and the same as protocol parts.

    Unpaired surrogates, which cannot be sent, are replaced by question marks in both.

    Raises:
        ValueError: A value cannot be serialised as JSON.
    """
    try:
        return parts, to_protocol(parts)
    except UnicodeEncodeError:
        valid = [_valid_part(part) for part in parts]
        return valid, to_protocol(valid)


def agent_struct(values: Mapping[str, JSON]) -> struct_pb2.Struct:
    """Convert an agent's metadata into a protobuf struct, replacing unpaired surrogates.

    Raises:
        ValueError: A value cannot be serialised as JSON.
    """
    try:
        return to_struct(values)
    except UnicodeEncodeError:
        return to_struct(_valid_value(values))


def _valid_part(part: Part) -> Part:
    part = replace(
        part,
        media_type=replace_surrogates(part.media_type),
        metadata=_valid_value(dict(part.metadata)),
    )
    match part:
        case Text():
            return replace(part, text=replace_surrogates(part.text))
        case File():
            return replace(part, filename=replace_surrogates(part.filename))
        case Data():
            return replace(part, value=_valid_value(part.value))


def _valid_value(value: Any) -> Any:
    """Return a value without unpaired surrogates, also in keys."""
    match value:
        case str():
            return replace_surrogates(value)
        case dict():
            return {
                replace_surrogates(key) if isinstance(key, str) else key: _valid_value(item)
                for key, item in value.items()
            }
        case list() | tuple():
            return [_valid_value(item) for item in value]
        case None | bool() | int() | float():
            return value
        case _:
            return _valid_value(to_jsonable_python(value, fallback=from_array))


def replace_surrogates(text: str) -> str:
    """Replace unpaired surrogates by question marks."""
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
    """Convert a value into a protobuf value.

    Raises:
        ValueError: It cannot be serialised as JSON.
    """
    plain = to_jsonable_python(value, inf_nan_mode="null", fallback=from_array)
    try:
        return json_format.ParseDict(plain, struct_pb2.Value())
    except json_format.ParseError as error:
        raise ValueError(str(error)) from error


def to_struct(values: Mapping[str, JSON]) -> struct_pb2.Struct:
    """Convert a mapping into a protobuf struct.

    Raises:
        ValueError: A value cannot be serialised as JSON.
    """
    return to_value(values).struct_value


def metadata_of(message: Message | SendMessageRequest) -> dict[str, Any]:
    """Return the metadata of a message as a dict."""
    return struct_to_dict(message.metadata) if message.HasField("metadata") else {}


def struct_to_dict(struct: struct_pb2.Struct) -> dict[str, Any]:
    """Convert a protobuf struct into a dict."""
    return {key: from_value(value) for key, value in struct.fields.items()}


def from_value(value: struct_pb2.Value) -> Any:
    """Convert a protobuf value into JSON.

    Protobuf values have no integers; whole numbers become int, so that 3 does not become 3.0.
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
    """Convert whole numbers in JSON into int, as `from_value` does."""
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
    """Return a number for JSON: int if it is whole, None if it is not finite."""
    if abs(number) <= _EXACT:
        return int(number) if number.is_integer() else number
    return number if math.isfinite(number) else None
