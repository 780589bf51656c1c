"""A2A 0.3 on the runtime of 1.0: fills the gaps in a2a-sdk's conversions."""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from a2a.compat.v0_3 import a2a_v0_3_pb2 as pb
from a2a.compat.v0_3 import conversions, types
from a2a.compat.v0_3.proto_utils import FromProto, ToProto
from a2a.types import (
    AgentCard,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    Message,
    SendMessageRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import (
    ExtendedAgentCardNotConfiguredError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from a2a_adapters.bindings import operations
from a2a_adapters.protocol import states

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event

    from a2a_adapters.runtime import StreamingHandler

OldEvent: TypeAlias = (
    types.Task | types.Message | types.TaskStatusUpdateEvent | types.TaskArtifactUpdateEvent
)


def to_old(event: Event) -> OldEvent:
    """Return an event, a task or a message in the model of 0.3."""
    match event:
        case Task():
            return conversions.to_compat_task(event)
        case Message():
            return conversions.to_compat_message(event)
        case TaskArtifactUpdateEvent():
            return conversions.to_compat_task_artifact_update_event(event)
        case TaskStatusUpdateEvent():
            old = conversions.to_compat_task_status_update_event(event)
            # a2a-sdk 1.3 does not know that a question ends the stream, too (0.3, section 7.2.2).
            old.final = event.status.state in states.SETTLED
            return old
    raise TypeError(f"{type(event).__name__} is not an event")


def _is_base64(content: bytes) -> bool:
    try:
        binascii.a2b_base64(content, strict_mode=True)
    except ValueError:
        return False
    return True


async def _get_push(
    runtime: StreamingHandler,
    params: GetTaskPushNotificationConfigRequest,
    context: ServerCallContext,
) -> TaskPushNotificationConfig:
    """Return a config; in 0.3, a request without an id means the task's first one.

    Some clients of 0.3 send `default`, for instance the official compatibility kit.
    """
    every = ListTaskPushNotificationConfigsRequest(task_id=params.task_id)
    found = await runtime.on_list_task_push_notification_configs(every, context)
    by_id = {config.id: config for config in found.configs}
    if params.id in by_id:
        return by_id[params.id]
    if not found.configs or params.id not in ("", "default"):
        raise TaskNotFoundError(f"Task {params.task_id} has no such push notification config")
    return found.configs[0]


async def _extended_card(
    runtime: StreamingHandler, params: GetExtendedAgentCardRequest, context: ServerCallContext
) -> AgentCard:
    """Raise 0.3's only error for agents without an extended card."""
    try:
        return await runtime.on_get_extended_agent_card(params, context)
    except UnsupportedOperationError as error:
        raise ExtendedAgentCardNotConfiguredError from error


GET_PUSH = replace(operations.GET_PUSH, of=lambda runtime: partial(_get_push, runtime))
EXTENDED_CARD = replace(
    operations.EXTENDED_CARD, of=lambda runtime: partial(_extended_card, runtime)
)


def to_core_send(request: pb.SendMessageRequest) -> SendMessageRequest:
    """Return a request to send a message as a type of 1.0.

    Raises:
        ValueError: A part is empty.
    """
    for part in request.request.content:
        # a2a-sdk sends and expects base64 in the field for bytes; others send the bytes.
        content = part.file.file_with_bytes
        if content and not _is_base64(content):
            part.file.file_with_bytes = base64.b64encode(content)
    params = FromProto.message_send_params(request)
    return conversions.to_core_send_message_request(types.SendMessageRequest(id=0, params=params))


def to_core_push(config: pb.TaskPushNotificationConfig, task_id: str) -> TaskPushNotificationConfig:
    """Return a push notification config as a type of 1.0."""
    old = FromProto.push_notification_config(config.push_notification_config)
    core = conversions.to_core_push_notification_config(old)
    core.task_id = task_id
    return core


def from_task(task: Task) -> pb.Task:
    """Return a task as a type of 0.3."""
    return ToProto.task(conversions.to_compat_task(task))


def from_sent(result: Task | Message) -> pb.SendMessageResponse:
    """Return the answer to a message as a type of 0.3."""
    if isinstance(result, Task):
        return pb.SendMessageResponse(task=from_task(result))
    return pb.SendMessageResponse(msg=ToProto.message(conversions.to_compat_message(result)))


def from_event(event: Event) -> pb.StreamResponse:
    """Return an event of a stream as a type of 0.3."""
    return ToProto.stream_response(to_old(event))


def from_push(config: TaskPushNotificationConfig) -> pb.TaskPushNotificationConfig:
    """Return a push notification config as a type of 0.3."""
    old = conversions.to_compat_task_push_notification_config(config)
    return ToProto.task_push_notification_config(old)


def from_pushes(
    found: ListTaskPushNotificationConfigsResponse,
) -> pb.ListTaskPushNotificationConfigResponse:
    """Return push notification configs as a type of 0.3."""
    return pb.ListTaskPushNotificationConfigResponse(configs=map(from_push, found.configs))


def from_card(card: AgentCard) -> pb.AgentCard:
    """Return a card as a type of 0.3."""
    return ToProto.agent_card(conversions.to_compat_agent_card(card))
