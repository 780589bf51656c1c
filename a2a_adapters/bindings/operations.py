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

    from a2a_adapters.runtime import Runtime


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
    run: Callable[[Runtime, Any, ServerCallContext], Awaitable[Any]]
    streams: bool = False
    large_bytes: int = 0


SEND = Operation(
    "SendMessage",
    SendMessageRequest,
    lambda runtime, params, context: runtime.on_message_send(params, context),
)
STREAM = Operation(
    "SendStreamingMessage",
    SendMessageRequest,
    lambda runtime, params, context: runtime.open_stream(params, context),
    streams=True,
)
GET = Operation(
    "GetTask", GetTaskRequest, lambda runtime, params, context: runtime.on_get_task(params, context)
)
LIST = Operation(
    "ListTasks",
    ListTasksRequest,
    lambda runtime, params, context: runtime.on_list_tasks(params, context),
    large_bytes=8 * 1024 * 1024,
)
CANCEL = Operation(
    "CancelTask",
    CancelTaskRequest,
    lambda runtime, params, context: runtime.on_cancel_task(params, context),
)
SUBSCRIBE = Operation(
    "SubscribeToTask",
    SubscribeToTaskRequest,
    lambda runtime, params, context: runtime.open_subscription(params, context),
    streams=True,
)
CREATE_PUSH = Operation(
    "CreateTaskPushNotificationConfig",
    TaskPushNotificationConfig,
    lambda runtime, params, context: runtime.on_create_task_push_notification_config(
        params, context
    ),
)
GET_PUSH = Operation(
    "GetTaskPushNotificationConfig",
    GetTaskPushNotificationConfigRequest,
    lambda runtime, params, context: runtime.on_get_task_push_notification_config(params, context),
)
LIST_PUSH = Operation(
    "ListTaskPushNotificationConfigs",
    ListTaskPushNotificationConfigsRequest,
    lambda runtime, params, context: runtime.on_list_task_push_notification_configs(
        params, context
    ),
)
DELETE_PUSH = Operation(
    "DeleteTaskPushNotificationConfig",
    DeleteTaskPushNotificationConfigRequest,
    lambda runtime, params, context: runtime.on_delete_task_push_notification_config(
        params, context
    ),
)
EXTENDED_CARD = Operation(
    "GetExtendedAgentCard",
    GetExtendedAgentCardRequest,
    lambda runtime, params, context: runtime.on_get_extended_agent_card(params, context),
)
