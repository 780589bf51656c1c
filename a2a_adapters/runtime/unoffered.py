"""The operations of A2A that the card does not offer yet, refused as the specification says."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from a2a.server.request_handlers import RequestHandler
from a2a.utils.errors import PushNotificationNotSupportedError, UnsupportedOperationError

from a2a_adapters.runtime.guard import UnexpectedErrorsHidden

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from a2a.types import (
        AgentCard,
        DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigsRequest,
        ListTaskPushNotificationConfigsResponse,
        TaskPushNotificationConfig,
    )

MakeExtendedCard: TypeAlias = "Callable[[ServerCallContext], AgentCard]"
"""Returns the extended card for a caller."""


class UnofferedOperations(RequestHandler):
    """Push notifications and the extended card (A2A 1.0, section 3.3.4)."""

    _extended_card: MakeExtendedCard | None

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Refuse: the card does not offer push notifications."""
        raise PushNotificationNotSupportedError

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Refuse: the card does not offer push notifications."""
        raise PushNotificationNotSupportedError

    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """Refuse: the card does not offer push notifications."""
        raise PushNotificationNotSupportedError

    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Refuse: the card does not offer push notifications."""
        raise PushNotificationNotSupportedError

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        """Return what authenticated callers are told (A2A 1.0, section 3.1.11)."""
        if self._extended_card is None:
            raise UnsupportedOperationError("this agent has no extended card")
        with UnexpectedErrorsHidden("GetExtendedAgentCard"):
            return self._extended_card(context)
