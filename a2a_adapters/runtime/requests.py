"""Checks of incoming messages that a2a-sdk leaves to the request handler."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from a2a.types import Role
from a2a.utils.errors import (
    ExtensionSupportRequiredError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
)
from a2a.utils.input_mode_validator import validate_input_modes
from a2a.utils.proto_utils import validate_proto_required_fields
from a2a.utils.task import validate_history_length
from google.protobuf.struct_pb2 import Value

if TYPE_CHECKING:
    from a2a.types import AgentCard, Message, SendMessageRequest

_ANY = "*/*"


def required_extensions(card: AgentCard) -> frozenset[str]:
    """Return the URIs of the extensions that a caller must activate (section 4.6.1)."""
    return frozenset(e.uri for e in card.capabilities.extensions if e.required)


def check_extensions(required: frozenset[str], requested: set[str], message: Message) -> None:
    """Refuse a caller that does not activate what is required (section 3.3.4).

    Raises:
        ExtensionSupportRequiredError: An extension is missing.
    """
    for uri in required - requested:
        if uri not in message.extensions:
            raise ExtensionSupportRequiredError(
                f"activate the extension {uri} by the header A2A-Extensions"
            )


def check_send(params: SendMessageRequest, card: AgentCard) -> None:
    """Refuse a message the protocol or the agent's card does not allow.

    Raises:
        InvalidParamsError: A required field is missing, or the role is not the user's.
        ContentTypeNotSupportedError: The card does not list a part's media type.
        PushNotificationNotSupportedError: The caller asked for push notifications.
    """
    message = params.message
    if not (message.message_id and message.role and message.parts):
        # The SDK's check names every missing field, but reading the schema is slow.
        validate_proto_required_fields(params)
    if message.role != Role.ROLE_USER:
        raise InvalidParamsError("a message to an agent has the role ROLE_USER")
    has_media_type = False
    for part in message.parts:
        if part.WhichOneof("content") is None:
            raise InvalidParamsError("a part has one of text, raw, url, data")
        has_media_type = has_media_type or bool(part.media_type)
        if part.HasField("data") or part.HasField("metadata"):
            _refuse_non_finite(part.data, Value(struct_value=part.metadata))
    if message.HasField("metadata") or params.HasField("metadata"):
        _refuse_non_finite(
            Value(struct_value=message.metadata), Value(struct_value=params.metadata)
        )
    if not params.HasField("configuration"):
        pass
    elif params.configuration.HasField("task_push_notification_config"):
        raise PushNotificationNotSupportedError
    else:
        validate_history_length(params.configuration)
    if has_media_type and _ANY not in card.default_input_modes:
        validate_input_modes(message, card)


def _refuse_non_finite(*values: Value) -> None:
    """Refuse numbers that no JSON can hold: they could never be sent again."""
    todo = list(values)
    while todo:
        value = todo.pop()
        todo += value.struct_value.fields.values()
        todo += value.list_value.values
        if not math.isfinite(value.number_value):
            raise InvalidParamsError("a number is too large")
