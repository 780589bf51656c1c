"""The operations of A2A, whatever binding they are called by (A2A 1.0, section 3.1).

How one is read from JSON and answered in it is in `methods`; gRPC needs neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from a2a.server.context import ServerCallContext
    from google.protobuf.message import Message

    from a2a_adapters.runtime import StreamingHandler


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the runtime.

    Attributes:
        name: Its name in the specification.
        params: What it takes, in the types of A2A 1.0.
        run: Carries it out; one that streams returns a `Subscription`.
        streams: Whether it does.
        large_bytes: How large its answer may be, if it is made for one caller alone.
    """

    name: str
    params: type[Message]
    run: Callable[[StreamingHandler, Any, ServerCallContext], Awaitable[Any]]
    streams: bool = False
    large_bytes: int = 0


def _of(method: str) -> Callable[[StreamingHandler, Any, ServerCallContext], Awaitable[Any]]:
    return lambda runtime, params, context: getattr(runtime, method)(params, context)


SEND = Operation("SendMessage", SendMessageRequest, _of("on_message_send"))
STREAM = Operation("SendStreamingMessage", SendMessageRequest, _of("open_stream"), streams=True)
GET = Operation("GetTask", GetTaskRequest, _of("on_get_task"))
LIST = Operation("ListTasks", ListTasksRequest, _of("on_list_tasks"), large_bytes=8 * 1024 * 1024)
CANCEL = Operation("CancelTask", CancelTaskRequest, _of("on_cancel_task"))
SUBSCRIBE = Operation(
    "SubscribeToTask", SubscribeToTaskRequest, _of("open_subscription"), streams=True
)
CREATE_PUSH = Operation(
    "CreateTaskPushNotificationConfig",
    TaskPushNotificationConfig,
    _of("on_create_task_push_notification_config"),
)
GET_PUSH = Operation(
    "GetTaskPushNotificationConfig",
    GetTaskPushNotificationConfigRequest,
    _of("on_get_task_push_notification_config"),
)
LIST_PUSH = Operation(
    "ListTaskPushNotificationConfigs",
    ListTaskPushNotificationConfigsRequest,
    _of("on_list_task_push_notification_configs"),
)
DELETE_PUSH = Operation(
    "DeleteTaskPushNotificationConfig",
    DeleteTaskPushNotificationConfigRequest,
    _of("on_delete_task_push_notification_config"),
)
EXTENDED_CARD = Operation(
    "GetExtendedAgentCard", GetExtendedAgentCardRequest, _of("on_get_extended_agent_card")
)
