"""The calls of A2A 0.3's HTTP+JSON binding (A2A 0.3, section 3.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a.compat.v0_3 import a2a_v0_3_pb2 as pb
from google.protobuf.json_format import ParseDict
from pydantic_core import to_json

from a2a_adapters.bindings import operations, v03_conversion, v03_jsonrpc
from a2a_adapters.bindings.operations import METHODS, Method, Params
from a2a_adapters.protocol.encoding import one_line, to_dict
from a2a_adapters.protocol.parsing import check_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a.server.events import Event
    from a2a.types import ListTasksResponse
    from google.protobuf.message import Message

    from a2a_adapters.bindings.operations import Operation
    from a2a_adapters.runtime.updates import AnyUpdate

Calls = dict[str, dict[str, Method]]
"""By path, then by HTTP method."""

CONFIGS_PATH = "/tasks/{taskId}/pushNotificationConfigs"
"""The same in both versions."""


def _parse_send(params: Params) -> Message:
    for field in ("fileWithBytes", "file_with_bytes"):
        check_bytes(params, field)
    request = ParseDict(params, pb.SendMessageRequest(), ignore_unknown_fields=True)
    return v03_conversion.to_core_send(request)


def _parse_get(params: Params) -> Message:
    # In 0.3, 0 means all.
    if params.get("historyLength") in ("", "0"):
        del params["historyLength"]
    return METHODS["GetTask"].parse(params)


def _parse_push(params: Params) -> Message:
    task_id = params.pop("taskId")
    request = ParseDict(
        params, pb.CreateTaskPushNotificationConfigRequest(), ignore_unknown_fields=True
    )
    return v03_conversion.to_core_push(request.config, task_id)


def _encoder(to_wire: Callable[[Any], Message]) -> Callable[[Any], bytes]:
    return lambda result: to_json(to_dict(to_wire(result)))


def _encode_streamed(event: Event) -> bytes:
    return one_line(to_dict(v03_conversion.from_event(event)))


def _encode_update(update: AnyUpdate) -> bytes:
    return update.once(_encode_streamed)


def _by_path(operation: Operation, encode: Callable[[Any], bytes]) -> Method:
    """Return a method whose request is all in its path, as in 1.0."""
    return Method(operation, METHODS[operation.name].parse, encode)


def _parse_list(params: Params) -> Message:
    if params.get("status") == "TASK_STATE_CANCELLED":  # as 0.3 spells it
        params["status"] = "TASK_STATE_CANCELED"
    return METHODS["ListTasks"].parse(params)


def _encode_page(page: ListTasksResponse) -> bytes:
    tasks = [to_dict(v03_conversion.from_task(task)) for task in page.tasks]
    return to_json({"tasks": tasks, "nextPageToken": page.next_page_token})


def _encode_nothing(_result: object) -> bytes:
    return b"{}"


CALLS: Calls = {
    "/message:send": {
        "POST": Method(operations.SEND, _parse_send, _encoder(v03_conversion.from_sent))
    },
    "/message:stream": {"POST": Method(operations.STREAM, _parse_send, _encode_update)},
    "/tasks": {"GET": Method(operations.LIST, _parse_list, _encode_page)},
    "/tasks/{id}:cancel": {"POST": _by_path(operations.CANCEL, _encoder(v03_conversion.from_task))},
    "/tasks/{id}:subscribe": dict.fromkeys(
        ("GET", "POST"), _by_path(operations.SUBSCRIBE, _encode_update)
    ),
    "/tasks/{id}": {"GET": Method(operations.GET, _parse_get, _encoder(v03_conversion.from_task))},
    CONFIGS_PATH: {
        "GET": _by_path(operations.LIST_PUSH, _encoder(v03_conversion.from_pushes)),
        "POST": Method(operations.CREATE_PUSH, _parse_push, _encoder(v03_conversion.from_push)),
    },
    CONFIGS_PATH + "/{id:path}": {
        "GET": _by_path(v03_conversion.GET_PUSH, _encoder(v03_conversion.from_push)),
        "DELETE": _by_path(operations.DELETE_PUSH, _encode_nothing),
    },
    "/card": {"GET": _by_path(v03_conversion.EXTENDED_CARD, v03_jsonrpc.encode_card)},
}
