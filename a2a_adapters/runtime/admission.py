"""Checks messages against an agent's card and limits, and requests for lists."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from a2a.server.id_generator import UUIDGenerator
from a2a.types import Role, TaskState
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    ExtensionSupportRequiredError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
)
from a2a.utils.proto_utils import validate_proto_required_fields
from a2a.utils.task import (
    decode_list_tasks_cursor,
    validate_history_length,
    validate_page_size,
)

from a2a_adapters.protocol.card import ANY, overlap
from a2a_adapters.protocol.headers import V03, VERSION_STATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a.server.context import ServerCallContext
    from a2a.types import (
        AgentCard,
        ListTasksRequest,
        Message,
        Part,
        SendMessageConfiguration,
        SendMessageRequest,
    )
    from google.protobuf.struct_pb2 import Struct, Value

    from a2a_adapters.contract.limits import Limits

    _Carrier: TypeAlias = SendMessageRequest | Message | Part

_UNUSED = UUIDGenerator()
_USER = Role.ROLE_USER
_MAX_DEPTH = 30
_SHOWN_CHARACTERS = 100

_INT64 = range(-(1 << 63), 1 << 63)


class Admission:
    """Checks messages against one agent's card and limits."""

    def __init__(self, card: AgentCard, limits: Limits) -> None:
        self._card = card
        self.limits = limits
        listed = card.capabilities.extensions
        self.offered = frozenset(extension.uri for extension in listed)
        """The URIs of the extensions that the card lists."""
        self._required = frozenset(extension.uri for extension in listed if extension.required)

    def activated(self, requested: set[str]) -> list[str]:
        """Return the requested extensions that the agent has (A2A 1.0, section 4.6.1)."""
        return sorted(self.offered & requested)

    def check(self, params: SendMessageRequest, requested: set[str]) -> None:
        """Refuse a message that the protocol, the agent's card or its limits do not allow.

        Raises:
            InvalidParamsError: A required field is missing, the role is not the user's, or there
                are too many or too large parts.
            ContentTypeNotSupportedError: The card does not list a part's media type, or lists no
                type that the caller accepts.
            ExtensionSupportRequiredError: A required extension is missing (section 3.3.4).
            PushNotificationNotSupportedError: The card offers no push notifications.
        """
        message = params.message
        for uri in self._required - requested:
            if uri not in message.extensions:
                raise ExtensionSupportRequiredError(
                    f"activate the extension {uri} by the header A2A-Extensions"
                )
        if not (message.message_id and message.role and message.parts):
            # The SDK's check names every missing field, but reading the schema is slow.
            validate_proto_required_fields(params)
        if message.role != _USER:
            raise InvalidParamsError("a message to an agent has the role ROLE_USER")
        if len(message.parts) > self.limits.parts:
            most = self.limits.parts
            raise InvalidParamsError(f"a message to this agent has {most} parts at most")
        for part in message.parts:
            _check_part(part, self.limits)
            if part.media_type:
                _check_input_mode(part.media_type, self._card.default_input_modes)
        carriers: list[_Carrier] = [params, message, *message.parts]
        if found := [carrier.metadata for carrier in carriers if carrier.HasField("metadata")]:
            _check_metadata(found, self.limits)
        if params.HasField("configuration"):
            _check_configuration(params.configuration, self._card)


def _check_metadata(found: Sequence[Struct], limits: Limits) -> None:
    if sum(metadata.ByteSize() for metadata in found) > limits.metadata_bytes:
        raise InvalidParamsError(
            f"the metadata of a message to this agent has {limits.metadata_bytes} bytes at most; "
            "send larger values as data"
        )
    for metadata in found:
        _check_fields(metadata, 1)


def _check_configuration(configuration: SendMessageConfiguration, card: AgentCard) -> None:
    wants_push = configuration.HasField("task_push_notification_config")
    if wants_push and not card.capabilities.push_notifications:
        raise PushNotificationNotSupportedError
    validate_history_length(configuration)
    _check_output_modes(configuration.accepted_output_modes, card.default_output_modes)


def _check_input_mode(media_type: str, taken: Sequence[str]) -> None:
    if taken and ANY not in taken and not any(overlap(media_type, mode) for mode in taken):
        raise ContentTypeNotSupportedError(
            f"this agent takes {', '.join(taken)}, not {media_type[:_SHOWN_CHARACTERS]}"
        )


def _check_output_modes(accepted: Sequence[str], offered: Sequence[str]) -> None:
    """Refuse a caller that can use no answer of the agent (section 3.3.2).

    Some clients write "text", which is not a media type: they accept any answer.
    """
    if not accepted or any("/" not in mode for mode in accepted):
        return
    if not any(overlap(mine, yours) for mine in offered for yours in accepted):
        raise ContentTypeNotSupportedError(f"this agent answers in {', '.join(offered)}")


def _check_part(part: Part, limits: Limits) -> None:
    kind = part.WhichOneof("content")
    if kind is None:
        raise InvalidParamsError("a part has one of text, raw, url, data")
    if part.ByteSize() > limits.part_bytes:
        raise InvalidParamsError(
            f"a part of a message to this agent has {limits.part_bytes} bytes at most; "
            "send the url of larger content"
        )
    if kind == "data":
        _check_value(part.data, 1)


def _check_value(value: Value, depth: int) -> None:
    """Refuse values that could be received, but neither stored nor sent.

    Some releases of protobuf copy at most 100 levels; a JSON value takes up to three.
    """
    if depth > _MAX_DEPTH:
        raise InvalidParamsError(f"a value is nested in more than {_MAX_DEPTH} levels")
    match value.WhichOneof("kind"):
        case "number_value":
            if not math.isfinite(value.number_value):
                raise InvalidParamsError("a number is too large")
        case "struct_value":
            _check_fields(value.struct_value, depth)
        case "list_value":
            for inner in value.list_value.values:
                _check_value(inner, depth + 1)


def _check_fields(struct: Struct, depth: int) -> None:
    fields = struct.fields
    for key in fields:
        _check_value(fields[key], depth + 1)


def speaks_v03(context: ServerCallContext) -> bool:
    """Return whether a call uses A2A 0.3."""
    return context.state.get(VERSION_STATE) == V03


def validate_listing(params: ListTasksRequest) -> None:
    """Check a request's filters, page token and sizes.

    Every storage compares times as nanoseconds since 1970 in 64 bits.

    Raises:
        InvalidParamsError: A time is not between the years 1678 and 2261, the state is unknown,
            the page token is malformed, or a size is out of range.
    """
    validate_history_length(params)
    if params.HasField("page_size"):
        validate_page_size(params.page_size)
    if params.status not in TaskState.values():
        raise InvalidParamsError("status is unknown")
    after = params.status_timestamp_after
    if after.seconds * 1_000_000_000 + after.nanos not in _INT64:
        raise InvalidParamsError("statusTimestampAfter must be between the years 1678 and 2261")
    try:
        cursor = decode_list_tasks_cursor(params.page_token)
    except RecursionError as error:
        raise InvalidParamsError("the page token is malformed") from error
    if cursor is not None and (cursor.timestamp_ns or 0) not in _INT64:
        raise InvalidParamsError("the page token is malformed")
