"""Checks of incoming messages that a2a-sdk leaves to the request handler."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from a2a.types import Role
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
)
from a2a.utils.input_mode_validator import validate_input_modes
from a2a.utils.proto_utils import validate_proto_required_fields
from a2a.utils.task import validate_history_length
from google.protobuf.struct_pb2 import Struct, Value

from a2a_adapters.bindings.versions import V03, VERSION_STATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a.server.context import ServerCallContext
    from a2a.types import (
        AgentCard,
        Part,
        SendMessageConfiguration,
        SendMessageRequest,
    )

    from a2a_adapters.limits import Limits

_ANY = "*/*"
_MAX_DEPTH = 30


def check_send(params: SendMessageRequest, card: AgentCard, limits: Limits) -> None:
    """Refuse a message the protocol, the agent's card or its limits do not allow.

    Raises:
        InvalidParamsError: A required field is missing, the role is not the user's, or there
            are too many parts or too large ones.
        ContentTypeNotSupportedError: The card does not list a part's media type.
        ContentTypeNotSupportedError: The card does not list a part's media type, or none that
            the caller accepts.
        PushNotificationNotSupportedError: The caller asked for push notifications, which the
            card does not offer.
    """
    message = params.message
    if not (message.message_id and message.role and message.parts):
        # The SDK's check names every missing field, but reading the schema is slow.
        validate_proto_required_fields(params)
    if message.role != Role.ROLE_USER:
        raise InvalidParamsError("a message to an agent has the role ROLE_USER")
    if len(message.parts) > limits.parts:
        raise InvalidParamsError(f"a message to this agent has {limits.parts} parts at most")
    has_media_type = False
    for part in message.parts:
        has_media_type = has_media_type or bool(part.media_type)
        _check_part(part, limits)
    if message.HasField("metadata") or params.HasField("metadata"):
        _check_values(message.metadata, params.metadata)
    if params.HasField("configuration"):
        _check_configuration(params.configuration, card)
    if has_media_type and _ANY not in card.default_input_modes:
        validate_input_modes(message, card)


def _check_configuration(configuration: SendMessageConfiguration, card: AgentCard) -> None:
    wants_push = configuration.HasField("task_push_notification_config")
    if wants_push and not card.capabilities.push_notifications:
        raise PushNotificationNotSupportedError
    validate_history_length(configuration)
    _check_output_modes(configuration.accepted_output_modes, card.default_output_modes)


def _check_output_modes(accepted: Sequence[str], offered: Sequence[str]) -> None:
    """Refuse a caller that could use no answer of the agent (section 3.3.2).

    Some clients write "text" and the like, which is no media type: these take what they get.
    """
    if not accepted or any("/" not in mode for mode in accepted):
        return
    if not any(_overlap(mine, yours) for mine in offered for yours in accepted):
        raise ContentTypeNotSupportedError(f"this agent answers in {', '.join(offered)}")


def _overlap(one: str, other: str) -> bool:
    (kind, subtype), (other_kind, other_subtype) = (
        mode.partition(";")[0].strip().lower().split("/", 1) for mode in (one, other)
    )
    return _same(kind, other_kind) and _same(subtype, other_subtype)


def _same(one: str, other: str) -> bool:
    return one == other or "*" in (one, other)


def _check_part(part: Part, limits: Limits) -> None:
    if part.WhichOneof("content") is None:
        raise InvalidParamsError("a part has one of text, raw, url, data")
    if part.ByteSize() > limits.part_bytes:
        raise InvalidParamsError(
            f"a part of a message to this agent has {limits.part_bytes} bytes at most; "
            "send the url of what is larger"
        )
    if part.HasField("data") or part.HasField("metadata"):
        _check_values(part.data, part.metadata)


def _check_values(*values: Value | Struct) -> None:
    """Refuse what could be received, but neither kept nor sent again.

    Some releases of protobuf copy no message of more than 100 levels; one of JSON has up to three.
    """
    todo: list[tuple[Value | Struct, int]] = [(value, 1) for value in values]
    while todo:
        value, depth = todo.pop()
        if depth > _MAX_DEPTH:
            raise InvalidParamsError(f"a value is nested in more than {_MAX_DEPTH} levels")
        if isinstance(value, Struct):
            todo += [(inner, depth + 1) for inner in value.fields.values()]
            continue
        if not math.isfinite(value.number_value):
            raise InvalidParamsError("a number is too large")
        todo += [(inner, depth + 1) for inner in value.struct_value.fields.values()]
        todo += [(inner, depth + 1) for inner in value.list_value.values]


def speaks_v03(context: ServerCallContext) -> bool:
    """Tell whether a call came over A2A 0.3."""
    return context.state.get(VERSION_STATE) == V03
