"""A2A 0.3 on the runtime of 1.0: what the conversions of a2a-sdk leave out."""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING, TypeAlias

import a2a.server.routes  # noqa: F401 - a2a.compat cannot be imported first (circular in 1.3.0)
from a2a.compat.v0_3 import conversions, types
from a2a.types import (
    AgentCard,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    Message,
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

from a2a_adapters import states
from a2a_adapters.bindings import operations
from a2a_adapters.bindings.operations import Operation

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event

    from a2a_adapters.runtime import Runtime

OldEvent: TypeAlias = (
    types.Task | types.Message | types.TaskStatusUpdateEvent | types.TaskArtifactUpdateEvent
)


def to_old(event: Event) -> OldEvent:
    """Return an event, a task or a message as 0.3 has it."""
    match event:
        case Task():
            return conversions.to_compat_task(event)
        case Message():
            return conversions.to_compat_message(event)
        case TaskArtifactUpdateEvent():
            return conversions.to_compat_task_artifact_update_event(event)
        case TaskStatusUpdateEvent():
            old = conversions.to_compat_task_status_update_event(event)
            # a2a-sdk 1.3 forgets that a question ends the stream as well (0.3, section 7.2.2).
            old.final = event.status.state in states.SETTLED
            return old
    raise TypeError(f"{type(event).__name__} is not an event")


def is_base64(content: str | bytes) -> bool:
    """Tell whether something is base64; a2a-sdk 1.3 skips over what is not."""
    try:
        binascii.a2b_base64(content, strict_mode=True)
    except ValueError:
        return False
    return True


async def _get_push(
    runtime: Runtime, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
) -> TaskPushNotificationConfig:
    """Without the id of a configuration, 0.3 means the task's default: its first.

    Some clients of 0.3 say `default`, the official compatibility kit for instance.
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
    runtime: Runtime, params: GetExtendedAgentCardRequest, context: ServerCallContext
) -> AgentCard:
    """0.3 has one error for agents that do not offer the card and those that lack it."""
    try:
        return await runtime.on_get_extended_agent_card(params, context)
    except UnsupportedOperationError as error:
        raise ExtendedAgentCardNotConfiguredError from error


GET_PUSH = Operation(operations.GET_PUSH.name, operations.GET_PUSH.params, _get_push)
EXTENDED_CARD = Operation(
    operations.EXTENDED_CARD.name, operations.EXTENDED_CARD.params, _extended_card
)
