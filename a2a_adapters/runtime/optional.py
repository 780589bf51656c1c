"""The operations of A2A that an agent offers by option, else refuses as the specification says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.server.request_handlers import RequestHandler
from a2a.server.request_handlers.request_handler import validate_request_params
from a2a.types import ListTaskPushNotificationConfigsResponse
from a2a.utils.errors import (
    InvalidParamsError,
    PushNotificationNotSupportedError,
    UnsupportedOperationError,
)
from a2a.utils.proto_utils import validate_proto_required_fields

from a2a_adapters.runtime.guard import Operation
from a2a_adapters.runtime.requests import speaks_v03

if TYPE_CHECKING:
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
    from a2a_adapters.runtime.push import PushNotifier
    from a2a_adapters.runtime.registry import LiveTasks


class OptionalOperations(RequestHandler):
    """Push notifications (A2A 1.0, sections 3.1.7 to 3.1.10) and the extended card.

    Each raises `PushNotificationNotSupportedError` or `UnsupportedOperationError` if the card
    does not offer it (section 3.3.4), and `TaskNotFoundError` if the caller has no such task.
    """

    _push: PushNotifier | None
    _live: LiveTasks

    @validate_request_params
    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Give a task a receiver of notifications, or change the one with this id."""
        with Operation("CreateTaskPushNotificationConfig"):
            push, live = await self._find(params.task_id, context)
            return await push.set(live, params, context)

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Return one config of a task; only 0.3 leaves its id out."""
        with Operation("GetTaskPushNotificationConfig"):
            if not speaks_v03(context):
                validate_proto_required_fields(params)
            push, live = await self._find(params.task_id, context)
            return await push.get(live.task_id, params.id, context)

    @validate_request_params
    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """Return all configs of a task."""
        with Operation("ListTaskPushNotificationConfigs"):
            push, live = await self._find(params.task_id, context)
            configs = await push.list(live.task_id, context)
            return ListTaskPushNotificationConfigsResponse(configs=configs)

    @validate_request_params
    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Send nothing more to a receiver; it need not exist."""
        with Operation("DeleteTaskPushNotificationConfig"):
            push, live = await self._find(params.task_id, context)
            await push.delete(live, params.id, context)

    async def on_get_extended_agent_card(
        self,
        params: GetExtendedAgentCardRequest,  # noqa: ARG002 - the interface has it
        context: ServerCallContext,  # noqa: ARG002
    ) -> AgentCard:
        """Refuse: the card does not offer an extended one."""
        raise UnsupportedOperationError("this agent has no extended card")

    async def _find(
        self, task_id: str, context: ServerCallContext
    ) -> tuple[PushNotifier, LiveTask]:
        if self._push is None:
            raise PushNotificationNotSupportedError
        if not task_id:
            raise InvalidParamsError("the id of a task is missing")
        return self._push, await self._live.find(task_id, context)
