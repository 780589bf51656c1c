"""The operations of A2A that an agent offers by option, else refuses as the specification says."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from a2a.types import ListTaskPushNotificationConfigsResponse
from a2a.utils.errors import (
    InvalidParamsError,
    PushNotificationNotSupportedError,
    UnsupportedOperationError,
)
from a2a.utils.proto_utils import validate_proto_required_fields

from a2a_adapters.runtime.admission import speaks_v03
from a2a_adapters.runtime.guard import OperationGuard
from a2a_adapters.runtime.interface import StreamingHandler

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a.server.context import ServerCallContext
    from a2a.types import (
        AgentCard,
        DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigsRequest,
        TaskPushNotificationConfig,
    )

    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.push.notifier import PushNotifier
    from a2a_adapters.runtime.registry import LiveTasks

    _AboutReceivers: TypeAlias = (
        TaskPushNotificationConfig
        | GetTaskPushNotificationConfigRequest
        | ListTaskPushNotificationConfigsRequest
        | DeleteTaskPushNotificationConfigRequest
    )


MakeExtendedCard: TypeAlias = "Callable[[ServerCallContext], AgentCard]"
"""Returns the extended card for a caller."""


class OptionalOperations(StreamingHandler):
    """Push notifications (A2A 1.0, sections 3.1.7 to 3.1.10) and the extended card.

    Each raises `PushNotificationNotSupportedError` or `UnsupportedOperationError` if the card
    does not offer it (section 3.3.4), and `TaskNotFoundError` if the caller has no such task.
    """

    _extended_card: MakeExtendedCard | None
    _push: PushNotifier | None
    live: LiveTasks

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Give a task a receiver of notifications, or change the one with this id."""
        with OperationGuard("CreateTaskPushNotificationConfig"):
            push, live = await self._find(params, context)
            return await push.set(live, params, context)

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Return one config of a task."""
        with OperationGuard("GetTaskPushNotificationConfig"):
            push, live = await self._find(params, context)
            return await push.get(live.task_id, params.id, context)

    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """Return all configs of a task."""
        with OperationGuard("ListTaskPushNotificationConfigs"):
            push, live = await self._find(params, context)
            configs = await push.list(live.task_id, context)
            return ListTaskPushNotificationConfigsResponse(configs=configs)

    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Send nothing more to a receiver; it need not exist."""
        with OperationGuard("DeleteTaskPushNotificationConfig"):
            push, live = await self._find(params, context)
            await push.delete(live, params.id, context)

    async def on_get_extended_agent_card(
        self,
        params: GetExtendedAgentCardRequest,  # noqa: ARG002 - the interface has it
        context: ServerCallContext,
    ) -> AgentCard:
        """Return what authenticated callers are told (A2A 1.0, section 3.1.11)."""
        if self._extended_card is None:
            raise UnsupportedOperationError("this agent has no extended card")
        with OperationGuard("GetExtendedAgentCard"):
            return self._extended_card(context)

    async def _find(
        self, params: _AboutReceivers, context: ServerCallContext
    ) -> tuple[PushNotifier, LiveTask]:
        if self._push is None:
            raise PushNotificationNotSupportedError
        if not speaks_v03(context):  # which requires less
            validate_proto_required_fields(params)
        if not params.task_id:
            raise InvalidParamsError("the id of a task is missing")
        return self._push, await self.live.find(params.task_id, context)
