"""A2A 1.0 operations forwarded to a remote agent of any supported version."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from a2a.client import ClientCallContext
from a2a.server.request_handlers import RequestHandler
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import (
    JSON_RPC_ERROR_CODE_MAP,
    A2AError,
    InternalError,
    InvalidAgentResponseError,
)

from a2a_adapters import RemoteAgentError, RemoteConnectionError, RemoteRefusedError
from a2a_adapters.calling.failures import translate

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

    from a2a.client import Client
    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event

    from a2a_adapters.calling.connection import Connection, Connections

T = TypeVar("T")

_EXTENSIONS = "A2A-Extensions"
_ERRORS = {code: kind for kind, code in JSON_RPC_ERROR_CODE_MAP.items()}


class RelayHandler(RequestHandler):
    """Forwards operations to a remote agent.

    Args:
        connections: Connections to the agent.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def card(self) -> AgentCard:
        """Return the agent's card.

        Raises:
            A2AError: The card cannot be read.
        """
        return (await self._connection()).card

    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Task | Message:
        """Send a message and return the task or message."""
        task_id = ""
        async for event in self.on_message_send_stream(params, context):
            if isinstance(event, Message):
                return event
            task_id = event.id if isinstance(event, Task) else event.task_id
        if not task_id:
            raise InvalidAgentResponseError("the agent returned no answer")
        return await self.on_get_task(GetTaskRequest(id=task_id), context)

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Send a message and yield the events of its task."""
        async for event in self._events(
            lambda client, call: client.send_message(params, context=call), context
        ):
            yield event

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Yield a task and its events."""
        async for event in self._events(
            lambda client, call: client.subscribe(params, context=call), context
        ):
            yield event

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task:
        """Return a task."""
        return await self._call(lambda client, call: client.get_task(params, context=call), context)

    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        """Return a page of the agent's tasks."""
        return await self._call(
            lambda client, call: client.list_tasks(params, context=call), context
        )

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        """Cancel a task."""
        return await self._call(
            lambda client, call: client.cancel_task(params, context=call), context
        )

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        """Return the extended card."""
        return await self._call(
            lambda client, call: client.get_extended_agent_card(params, context=call), context
        )

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Create a push notification config."""
        return await self._call(
            lambda client, call: client.create_task_push_notification_config(params, context=call),
            context,
        )

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Return a push notification config."""
        return await self._call(
            lambda client, call: client.get_task_push_notification_config(params, context=call),
            context,
        )

    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """Return all push notification configs of a task."""
        return await self._call(
            lambda client, call: client.list_task_push_notification_configs(params, context=call),
            context,
        )

    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Delete a push notification config."""
        await self._call(
            lambda client, call: client.delete_task_push_notification_config(params, context=call),
            context,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connections.aclose()

    async def _connection(self) -> Connection:
        try:
            return await self._connections.get()
        except RemoteAgentError as error:
            raise _translated(error) from error

    async def _call(
        self,
        call: Callable[[Client, ClientCallContext], Awaitable[T]],
        context: ServerCallContext,
    ) -> T:
        connection = await self._connection()
        try:
            return await call(connection.client, _passed_on(context))
        except Exception as error:
            raise _translated(translate(error, connection.card)) from error

    async def _events(
        self,
        call: Callable[[Client, ClientCallContext], AsyncIterator[StreamResponse]],
        context: ServerCallContext,
    ) -> AsyncGenerator[Event]:
        connection = await self._connection()
        try:
            async for event in call(connection.client, _passed_on(context)):
                if (kind := event.WhichOneof("payload")) is not None:
                    yield getattr(event, kind)
        except Exception as error:
            raise _translated(translate(error, connection.card)) from error


def _passed_on(context: ServerCallContext) -> ClientCallContext:
    """Return the protocol headers of a call to forward to the agent."""
    extensions = context.state["headers"].get(_EXTENSIONS.lower())
    return ClientCallContext(service_parameters={_EXTENSIONS: extensions} if extensions else None)


def _translated(error: RemoteAgentError) -> A2AError:
    """Translate an error for the page; connection errors are marked as retryable."""
    if isinstance(error, RemoteConnectionError):
        return InternalError(str(error), {"connection": "lost"})
    kind = _ERRORS.get(error.code) if isinstance(error, RemoteRefusedError) else None
    return (kind or InternalError)(str(error))
