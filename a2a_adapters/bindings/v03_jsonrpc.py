"""The methods of A2A 0.3's JSON-RPC binding (A2A 0.3, section 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a.compat.v0_3 import conversions, types
from a2a.utils.errors import A2AError, InvalidParamsError
from pydantic_core import from_json

from a2a_adapters.bindings import operations, v03_conversion
from a2a_adapters.bindings.operations import Method, Params, encode_page
from a2a_adapters.protocol import errors as failures
from a2a_adapters.protocol.encoding import escaped, model_to_json
from a2a_adapters.protocol.parsing import parse_request, standard_base64

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a.server.events import Event
    from a2a.types import ListTaskPushNotificationConfigsResponse, ListTasksResponse
    from google.protobuf.message import Message

    from a2a_adapters.protocol.errors import CallId
    from a2a_adapters.runtime.updates import AnyUpdate

_PART_KINDS = ("text", "file", "data")


def rpc_error(call_id: CallId, error: A2AError) -> dict[str, Any]:
    """Return the answer to a failed call (0.3, section 8)."""
    body: dict[str, Any] = {"code": failures.rpc_code(error), "message": error.message}
    if violations := failures.json_violations(error):
        body["data"] = dict(violations)
    elif metadata := failures.error_metadata(error):
        body["data"] = metadata
    return {"jsonrpc": "2.0", "id": call_id, "error": body}


def _parser(
    request: Callable[..., Any], to_core: Callable[[Any], Message]
) -> Callable[[Params], Message]:
    def parse(params: Params) -> Message:
        return to_core(request(id=0, params=params))

    return parse


_parse_message = _parser(types.SendMessageRequest, conversions.to_core_send_message_request)


def _parse_send(params: Params) -> Message:
    message = params.get("message")
    parts = message.get("parts") if isinstance(message, dict) else None
    for part in parts if isinstance(parts, list) else ():
        _prepare_part(part)
    return _parse_message(params)


def _prepare_part(part: object) -> None:
    """Refuse malformed parts, whose kind the models of a2a-sdk 1.3 would guess."""
    if not isinstance(part, dict) or _kind(part) not in _PART_KINDS:
        raise InvalidParamsError("a part has one of the kinds text, file, data")
    part["kind"] = _kind(part)
    file = part.get("file")
    if isinstance(file, dict) and isinstance(content := file.get("bytes"), str):
        try:
            file["bytes"] = standard_base64(content)
        except ValueError as error:
            raise InvalidParamsError("the bytes of a file are not base64") from error


def _kind(part: dict[str, object]) -> object:
    """Return the kind of a part, even if it is missing or named as in 0.2."""
    if "kind" in part:
        return part["kind"]
    named = [kind for kind in _PART_KINDS if kind in part]
    is_clear = len(named) == 1 and part.get("type", named[0]) == named[0]
    return named[0] if is_clear else None


def _parse_card(_params: Params) -> Message:
    return operations.EXTENDED_CARD.params()


def _parse_list(params: Params) -> Message:
    state = params.get("status")
    if isinstance(state, str):
        params["status"] = "TASK_STATE_" + state.upper().replace("-", "_")
    return parse_request(params, operations.LIST.params)


def _encode_page(page: ListTasksResponse) -> bytes:
    return encode_page(page, lambda task: from_json(_encode_event(task)))


def _encode_event(event: Any) -> bytes:
    return model_to_json(v03_conversion.to_old(event))


def _encode_streamed(event: Event) -> bytes:
    return escaped(model_to_json(v03_conversion.to_old(event)))


def _encode_update(update: AnyUpdate) -> bytes:
    return update.once(_encode_streamed)


def _encode_push(config: Any) -> bytes:
    return model_to_json(conversions.to_compat_task_push_notification_config(config))


def _encode_pushes(found: ListTaskPushNotificationConfigsResponse) -> bytes:
    return b"[" + b",".join(map(_encode_push, found.configs)) + b"]"


def _encode_nothing(_result: object) -> bytes:
    return b"null"


def encode_card(card: Any) -> bytes:
    """Return the JSON of a card."""
    return model_to_json(conversions.to_compat_agent_card(card))


METHODS = {
    "message/send": Method(operations.SEND, _parse_send, _encode_event),
    "message/stream": Method(operations.STREAM, _parse_send, _encode_update),
    "tasks/get": Method(
        operations.GET,
        _parser(types.GetTaskRequest, conversions.to_core_get_task_request),
        _encode_event,
    ),
    "tasks/list": Method(operations.LIST, _parse_list, _encode_page),  # with 1.0's parameters
    "tasks/cancel": Method(
        operations.CANCEL,
        _parser(types.CancelTaskRequest, conversions.to_core_cancel_task_request),
        _encode_event,
    ),
    "tasks/resubscribe": Method(
        operations.SUBSCRIBE,
        _parser(types.TaskResubscriptionRequest, conversions.to_core_subscribe_to_task_request),
        _encode_update,
    ),
    "tasks/pushNotificationConfig/set": Method(
        operations.CREATE_PUSH,
        _parser(
            types.SetTaskPushNotificationConfigRequest,
            conversions.to_core_create_task_push_notification_config_request,
        ),
        _encode_push,
    ),
    "tasks/pushNotificationConfig/get": Method(
        v03_conversion.GET_PUSH,
        _parser(
            types.GetTaskPushNotificationConfigRequest,
            conversions.to_core_get_task_push_notification_config_request,
        ),
        _encode_push,
    ),
    "tasks/pushNotificationConfig/list": Method(
        operations.LIST_PUSH,
        _parser(
            types.ListTaskPushNotificationConfigRequest,
            conversions.to_core_list_task_push_notification_config_request,
        ),
        _encode_pushes,
    ),
    "tasks/pushNotificationConfig/delete": Method(
        operations.DELETE_PUSH,
        _parser(
            types.DeleteTaskPushNotificationConfigRequest,
            conversions.to_core_delete_task_push_notification_config_request,
        ),
        _encode_nothing,
    ),
    "agent/getAuthenticatedExtendedCard": Method(
        v03_conversion.EXTENDED_CARD, _parse_card, encode_card
    ),
}
"""The methods of A2A 0.3 by name."""

METHODS |= {
    alias: METHODS[name]
    for alias, name in {
        "tasks/subscribe": "tasks/resubscribe",
        "tasks/pushNotificationConfig/create": "tasks/pushNotificationConfig/set",
        "agent/getExtendedCard": "agent/getAuthenticatedExtendedCard",
    }.items()
}

EARLIER = {
    "tasks/send": "message/send",
    "tasks/sendSubscribe": "message/stream",
    "tasks/pushNotification/set": "tasks/pushNotificationConfig/set",
    "tasks/pushNotification/get": "tasks/pushNotificationConfig/get",
}
"""The names of methods before A2A 0.2.0, and their successors."""
