"""The messages of A2A 0.3's protobuf schema, which REST and gRPC share."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from a2a.compat.v0_3 import a2a_v0_3_pb2 as pb
from a2a.compat.v0_3 import conversions, types
from a2a.compat.v0_3.proto_utils import FromProto, ToProto
from a2a.types import (
    AgentCard,
    ListTaskPushNotificationConfigsResponse,
    SendMessageRequest,
    Task,
    TaskPushNotificationConfig,
)

from a2a_adapters.bindings.v03 import is_base64, to_old

if TYPE_CHECKING:
    from a2a.server.events import Event
    from a2a.types import Message


def to_core_send(request: pb.SendMessageRequest) -> SendMessageRequest:
    """Return a request to send a message in 1.0's type.

    Raises:
        ValueError: A part is empty.
    """
    for part in request.request.content:
        # a2a-sdk has base64 in the field for bytes, and expects it there; others have the bytes.
        content = part.file.file_with_bytes
        if content and not is_base64(content):
            part.file.file_with_bytes = base64.b64encode(content)
    params = FromProto.message_send_params(request)
    return conversions.to_core_send_message_request(types.SendMessageRequest(id=0, params=params))


def to_core_push(config: pb.TaskPushNotificationConfig, task_id: str) -> TaskPushNotificationConfig:
    """Return a push notification configuration in 1.0's type."""
    old = FromProto.push_notification_config(config.push_notification_config)
    core = conversions.to_core_push_notification_config(old)
    core.task_id = task_id
    return core


def from_task(task: Task) -> pb.Task:
    """Return a task in 0.3's type."""
    return ToProto.task(conversions.to_compat_task(task))


def from_sent(result: Task | Message) -> pb.SendMessageResponse:
    """Return the answer to a message in 0.3's type."""
    if isinstance(result, Task):
        return pb.SendMessageResponse(task=from_task(result))
    return pb.SendMessageResponse(msg=ToProto.message(conversions.to_compat_message(result)))


def from_event(event: Event) -> pb.StreamResponse:
    """Return an event of a stream in 0.3's type."""
    return ToProto.stream_response(to_old(event))


def from_push(config: TaskPushNotificationConfig) -> pb.TaskPushNotificationConfig:
    """Return a push notification configuration in 0.3's type."""
    old = conversions.to_compat_task_push_notification_config(config)
    return ToProto.task_push_notification_config(old)


def from_pushes(
    found: ListTaskPushNotificationConfigsResponse,
) -> pb.ListTaskPushNotificationConfigResponse:
    """Return push notification configurations in 0.3's type."""
    return pb.ListTaskPushNotificationConfigResponse(configs=map(from_push, found.configs))


def from_card(card: AgentCard) -> pb.AgentCard:
    """Return a card in 0.3's type."""
    return ToProto.agent_card(conversions.to_compat_agent_card(card))
