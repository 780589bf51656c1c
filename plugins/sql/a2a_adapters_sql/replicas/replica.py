"""Replication: each process serves all operations on all tasks of the shared storage."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from a2a.server.cluster.task_store import ConcurrentTaskModificationError
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import UnsupportedOperationError

from a2a_adapters.observability.failures import OperationGuard
from a2a_adapters.protocol.errors import ConversationElsewhereError, StorageUnavailableError
from a2a_adapters.runtime import Runtime, StreamingHandler
from a2a_adapters.runtime.upkeep import Upkeep
from a2a_adapters_sql.replicas.calls import Call, pack, packed, unpack
from a2a_adapters_sql.replicas.following import (
    PAUSE_SECONDS,
    FollowedSubscription,
    Follower,
    ReopeningSubscription,
)
from a2a_adapters_sql.replicas.locations import Locator
from a2a_adapters_sql.replicas.peers import PeerLostError, Peers, check_repeat

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from a2a.server.context import ServerCallContext
    from a2a.types import (
        AgentCard,
        GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigsRequest,
        ListTaskPushNotificationConfigsResponse,
        ListTasksResponse,
    )
    from google.protobuf.message import Message as Proto

    from a2a_adapters.runtime.subscriber import Subscription
    from a2a_adapters_sql.replicas.locations import Directory

_LISTING_SECONDS = 1.0
"""Time limit for other processes to store published changes before tasks are listed."""
_SAVE_SECONDS = 4.0
"""Time limit for storing a change of push notification configs."""


class Replica(StreamingHandler):
    """Wraps a runtime and forwards operations to the processes that run the tasks.

    An operation on a task of another live process is forwarded to that process, and
    its answer returned. The local runtime handles everything else.

    Args:
        runtime: The runtime of this process.
        directory: Locates tasks.
    """

    def __init__(self, runtime: Runtime, directory: Directory) -> None:
        self.admission = runtime.admission
        self.figures = runtime.figures
        self.runtime = runtime
        self.directory = directory
        self._peers = Peers(directory, self._serve)
        self.locator = Locator(runtime, directory)
        self._follower = Follower(runtime, self.locator, self._peers)
        self._upkeep = Upkeep()
        self._is_closing = False
        directory.on_lapse(self._on_lapse)

    async def start(self) -> None:
        """Listen to the other processes and recover the tasks of dead ones."""
        self._peers.start()
        self._upkeep.every(
            self.runtime.limits.sweep_seconds, "releasing tasks", self.locator.let_go
        )
        await self.runtime.start()

    def hurry(self) -> None:
        """Let `aclose` wait for running tasks no longer."""
        self.runtime.hurry()

    async def aclose(self) -> None:
        """Stop the runtime; remote readers of its tasks look for them elsewhere."""
        self._is_closing = True
        self._upkeep.close()
        await self.runtime.aclose()
        await self._peers.aclose()

    def _on_lapse(self) -> None:
        self._upkeep.once("releasing tasks", self.locator.let_go)

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task:
        """Return a task."""
        with OperationGuard("GetTask"):
            found = await self._elsewhere(params.id, "GetTask", params, context)
        if found is not None:
            return Task.FromString(found)
        task: Task = await self.runtime.on_get_task(params, context)
        return task

    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        """Return a page of the caller's tasks, newest first."""
        with OperationGuard("ListTasks"):
            homes = await self.directory.homes_of(context.user.user_name)
            call = Call.of("SaveTasks", params, context)
            await asyncio.gather(*(self._saved_by(process, call) for process in homes))
        page: ListTasksResponse = await self.runtime.on_list_tasks(params, context)
        return page

    async def _saved_by(self, process: str, call: Call) -> None:
        """Ask another process to store its published changes, within a time limit."""
        with suppress(PeerLostError, TimeoutError):
            async with asyncio.timeout(_LISTING_SECONDS):
                await self._peers.ask(process, call)

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        """Cancel a task."""
        while True:
            with OperationGuard("CancelTask"):
                found = await self._elsewhere(params.id, "CancelTask", params, context)
            if found is not None:
                return Task.FromString(found)
            try:
                task: Task = await self.runtime.on_cancel_task(params, context)
            except ConversationElsewhereError:  # another process has just taken it over
                with OperationGuard("CancelTask"):
                    await self.locator.check_recovered(params.id, context)
            else:
                return task

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Create or replace a push notification config of a task."""
        task_id = params.task_id
        with OperationGuard("CreateTaskPushNotificationConfig"):
            found = await self._elsewhere(task_id, "CreateConfig", params, context)
        if found is not None:
            return TaskPushNotificationConfig.FromString(found)
        config = await self.runtime.on_create_task_push_notification_config(params, context)
        with OperationGuard("CreateTaskPushNotificationConfig"):
            if not await self._invalidate(task_id, context):
                await self._elsewhere(task_id, "CreateConfig", config, context)
        return config

    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Delete a push notification config; it need not exist."""
        task_id = params.task_id
        with OperationGuard("DeleteTaskPushNotificationConfig"):
            if await self._elsewhere(task_id, "DeleteConfig", params, context) is not None:
                return
        await self.runtime.on_delete_task_push_notification_config(params, context)
        with OperationGuard("DeleteTaskPushNotificationConfig"):
            if not await self._invalidate(task_id, context):
                await self._elsewhere(task_id, "DeleteConfig", params, context)

    async def _invalidate(self, task_id: str, context: ServerCallContext) -> bool:
        """Make processes that have loaded a task reload it before they accept input.

        Returns:
            Whether no process has accepted input yet; the one that does will see the new configs.

        Raises:
            StorageUnavailableError: The task could not be stored in time.
        """
        live = await self.runtime.live.find(task_id, context)
        if live.runs or live.task is None or not live.page.is_unowned(live.task):
            return False
        try:
            async with asyncio.timeout(_SAVE_SECONDS):
                await live.save()
        except TimeoutError as error:
            raise StorageUnavailableError from error
        except ConcurrentTaskModificationError:
            return False
        return True

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Return one config of a task."""
        return await self.runtime.on_get_task_push_notification_config(params, context)

    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """Return all configs of a task."""
        return await self.runtime.on_list_task_push_notification_configs(params, context)

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        """Return the card for authenticated callers."""
        return await self.runtime.on_get_extended_agent_card(params, context)

    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Task | Message:
        """Answer a message, or forward it to the process that runs its context."""
        message, given = params.message, (params.message.task_id, params.message.context_id)
        with OperationGuard("SendMessage"):
            home = await self.locator.home_of(message.task_id, context)
        while True:
            if home is None:
                try:
                    return await self.runtime.on_message_send(params, context)
                except ConversationElsewhereError as error:
                    message.task_id, message.context_id = given
                    with OperationGuard("SendMessage"):
                        home = await self.locator.redirected(error, message.task_id, context)
                    continue
            with OperationGuard("SendMessage"):
                try:
                    call = Call.of("SendMessage", params, context)
                    return cast("Task | Message", next(unpack(await self._peers.ask(home, call))))
                except ConversationElsewhereError:  # it is stopping or has released the task
                    await asyncio.sleep(PAUSE_SECONDS)
                except PeerLostError as error:
                    check_repeat("SendMessage", params, context.user.user_name, error)
                home = await self.locator.home_of(message.task_id, context)

    async def open_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Subscription:
        """Start answering a message in the responsible process and return its event stream."""
        message, given = params.message, (params.message.task_id, params.message.context_id)
        task_id = message.task_id
        with OperationGuard("SendStreamingMessage"):
            home = await self.locator.home_of(task_id, context)
        if home is None:
            try:
                opened = await self.runtime.open_stream(params, context)
            except ConversationElsewhereError as error:
                message.task_id, message.context_id = given
                home, task_id = error.process, task_id or error.task_id
            else:
                if not task_id:
                    return opened

                async def reopen() -> Subscription:
                    message.task_id, message.context_id = given
                    return await self.open_stream(params, context)

                return ReopeningSubscription(opened, reopen)
        with OperationGuard("SendStreamingMessage"):
            call = Call.of("SendStreamingMessage", params, context)
            reader = self.runtime.reader(context, params.configuration)
            events = self._follower.events(task_id, context, call, home)
            return await FollowedSubscription(reader, self.figures, events).begun()

    async def open_subscription(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> Subscription:
        """Return the event stream of an open task."""
        with OperationGuard("SubscribeToTask"):
            location = await self.locator.locate(params.id, context)
            is_here = self.locator.is_here(params.id, location)
            if not (is_here or (await self.runtime.live.find(params.id, context)).is_terminal):
                reader, events = (
                    self.runtime.reader(context),
                    self._follower.events(params.id, context),
                )
                return await FollowedSubscription(reader, self.figures, events).begun()
        return await self.runtime.open_subscription(params, context)

    async def _elsewhere(
        self, task_id: str, operation: str, params: Proto, context: ServerCallContext
    ) -> bytes | None:
        """Return the answer of the other process that runs a task, None without one."""
        while (process := (await self.locator.locate(task_id, context)).process) is not None:
            try:
                return await self._peers.ask(process, Call.of(operation, params, context))
            except ConversationElsewhereError:  # it is stopping or has released the task
                await asyncio.sleep(PAUSE_SECONDS)
            except PeerLostError as error:
                check_repeat(operation, params, context.user.user_name, error)
        return None

    async def _serve(self, call: Call) -> AsyncGenerator[bytes]:
        """Perform the call of another process."""
        context = call.context
        if self._is_closing and call.operation in {"SendMessage", "SendStreamingMessage"}:
            raise ConversationElsewhereError
        match call.operation:
            case "SendStreamingMessage":
                sent = SendMessageRequest.FromString(call.params)
                async for part in packed(await self.runtime.open_stream(sent, context)):
                    yield part
            case "SubscribeToTask":
                asked = SubscribeToTaskRequest.FromString(call.params)
                async for part in packed(await self.runtime.open_subscription(asked, context)):
                    yield part
            case _:
                yield await self._answer(call.operation, call.params, context)

    async def _answer(self, operation: str, params: bytes, context: ServerCallContext) -> bytes:
        runtime = self.runtime
        answer: Task | TaskPushNotificationConfig | None = None
        match operation:
            case "GetTask":
                answer = await runtime.on_get_task(GetTaskRequest.FromString(params), context)
            case "CancelTask":
                answer = await runtime.on_cancel_task(CancelTaskRequest.FromString(params), context)
            case "CreateConfig":
                config = TaskPushNotificationConfig.FromString(params)
                answer = await runtime.on_create_task_push_notification_config(config, context)
            case "DeleteConfig":
                which = DeleteTaskPushNotificationConfigRequest.FromString(params)
                await runtime.on_delete_task_push_notification_config(which, context)
            case "SendMessage":
                sent = SendMessageRequest.FromString(params)
                return pack([await runtime.on_message_send(sent, context)])
            case "SaveTasks":
                await runtime.live.save_dirty(context.user.user_name)
            case _:
                raise UnsupportedOperationError(operation)
        return answer.SerializeToString() if answer else b""
