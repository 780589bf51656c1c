"""The operations of A2A, whatever binding they are called by (A2A 1.0, section 3.1)."""

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
    """

    name: str
    params: type[Message]
    run: Callable[[Runtime, Any, ServerCallContext], Awaitable[Any]]
    streams: bool = False


def _calling(name: str) -> Callable[[Runtime, Any, ServerCallContext], Awaitable[Any]]:
    return lambda runtime, params, context: getattr(runtime, name)(params, context)


SEND = Operation("SendMessage", SendMessageRequest, _calling("on_message_send"))
STREAM = Operation(
    "SendStreamingMessage", SendMessageRequest, _calling("open_stream"), streams=True
)
GET = Operation("GetTask", GetTaskRequest, _calling("on_get_task"))
LIST = Operation("ListTasks", ListTasksRequest, _calling("on_list_tasks"))
CANCEL = Operation("CancelTask", CancelTaskRequest, _calling("on_cancel_task"))
SUBSCRIBE = Operation(
    "SubscribeToTask", SubscribeToTaskRequest, _calling("open_subscription"), streams=True
)
CREATE_PUSH = Operation(
    "CreateTaskPushNotificationConfig",
    TaskPushNotificationConfig,
    _calling("on_create_task_push_notification_config"),
)
GET_PUSH = Operation(
    "GetTaskPushNotificationConfig",
    GetTaskPushNotificationConfigRequest,
    _calling("on_get_task_push_notification_config"),
)
LIST_PUSH = Operation(
    "ListTaskPushNotificationConfigs",
    ListTaskPushNotificationConfigsRequest,
    _calling("on_list_task_push_notification_configs"),
)
DELETE_PUSH = Operation(
    "DeleteTaskPushNotificationConfig",
    DeleteTaskPushNotificationConfigRequest,
    _calling("on_delete_task_push_notification_config"),
)
EXTENDED_CARD = Operation(
    "GetExtendedAgentCard", GetExtendedAgentCardRequest, _calling("on_get_extended_agent_card")
)
