"""The operations of A2A (1.0, section 3.1), with their parsing from JSON and encoding to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    ListTasksResponse,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
)
from pydantic_core import to_json

from a2a_adapters.bindings.sse import Frame
from a2a_adapters.protocol.encoding import message_to_dict, task_to_dict, to_dict
from a2a_adapters.protocol.parsing import parse_request, parse_send

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from google.protobuf.message import Message

    from a2a_adapters.runtime import StreamingHandler


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the runtime.

    Attributes:
        name: Its name in the specification.
        params: Its request, a type of A2A 1.0.
        of: Returns the runtime's method for the operation. It takes the request and the caller's
            context; a streaming method returns a `Subscription`.
        streams: Whether it answers with a stream.
        large_bytes: Maximum size of an answer that other callers do not share.
    """

    name: str
    params: type[Message]
    of: Callable[[StreamingHandler], Callable[..., Awaitable[Any]]]
    streams: bool = False
    large_bytes: int = 0


def _operation(params: type[Message], method: str = "", **options: Any) -> Operation:
    """Return an operation named after its request, and by default the method of that name."""
    name = params.__name__.removesuffix("Request")
    snake = re.sub("(?=[A-Z])", "_", name).lower()
    return Operation(name, params, attrgetter(method or f"on{snake}"), **options)


SEND = _operation(SendMessageRequest, "on_message_send")
STREAM = Operation(
    "SendStreamingMessage", SendMessageRequest, attrgetter("open_stream"), streams=True
)
GET = _operation(GetTaskRequest)
LIST = _operation(ListTasksRequest, large_bytes=8 * 1024 * 1024)
CANCEL = _operation(CancelTaskRequest)
SUBSCRIBE = _operation(SubscribeToTaskRequest, "open_subscription", streams=True)
CREATE_PUSH = Operation(
    "CreateTaskPushNotificationConfig",
    TaskPushNotificationConfig,
    attrgetter("on_create_task_push_notification_config"),
)
GET_PUSH = _operation(GetTaskPushNotificationConfigRequest)
LIST_PUSH = _operation(ListTaskPushNotificationConfigsRequest)
DELETE_PUSH = _operation(DeleteTaskPushNotificationConfigRequest)
EXTENDED_CARD = _operation(GetExtendedAgentCardRequest)

Params = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Method:
    """An operation in one version of JSON.

    Attributes:
        operation: The operation.
        parse: Parses its request; raises `InvalidParamsError`.
        encode: Makes JSON from its result or, if it streams, from an update of the task.
        frame: Frames these updates as events.
        parameters: Names of query parameters besides the fields of its request.
    """

    operation: Operation
    parse: Callable[[Params], Message]
    encode: Callable[[Any], bytes]
    frame: type[Frame] = Frame
    parameters: tuple[str, ...] = ()


def _method(operation: Operation, encode: Callable[[Any], bytes] | None = None) -> Method:
    def parse(params: Params) -> Message:
        return parse_request(params, operation.params)

    return Method(operation, parse, encode or _encode)


def _encode(result: Message | None) -> bytes:
    return to_json({} if result is None else to_dict(result))


def _encode_task(task: Task) -> bytes:
    return to_json(task_to_dict(task))


def _encode_sent(result: Task | Any) -> bytes:
    if isinstance(result, Task):
        return to_json({"task": task_to_dict(result)})
    return to_json({"message": message_to_dict(result)})


def encode_page(page: ListTasksResponse, task_to: Callable[[Task], object] = task_to_dict) -> bytes:
    """Return the JSON of a page; `task_to` makes a JSON value of each task."""
    # The fields of a page are required, also when they are empty (section 3.1.4).
    return to_json(
        {
            "tasks": [task_to(task) for task in page.tasks],
            "nextPageToken": page.next_page_token,
            "pageSize": page.page_size,
            "totalSize": page.total_size,
        }
    )


_encode_update = methodcaller("json")


METHODS = {
    method.operation.name: method
    for method in (
        Method(SEND, parse_send, _encode_sent),
        Method(STREAM, parse_send, _encode_update),
        _method(GET, _encode_task),
        _method(LIST, encode_page),
        _method(CANCEL, _encode_task),
        _method(SUBSCRIBE, _encode_update),
        _method(CREATE_PUSH),
        _method(GET_PUSH),
        _method(LIST_PUSH),
        _method(DELETE_PUSH),
        _method(EXTENDED_CARD),
    )
}
"""The methods of A2A 1.0 by name."""
