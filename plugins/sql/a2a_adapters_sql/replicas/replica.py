"""A runtime among others: each process does any operation on any task of the shared storage."""

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

from a2a_adapters.protocol.errors import ConversationElsewhereError, StorageUnavailableError
from a2a_adapters.runtime import Runtime, StreamingHandler
from a2a_adapters.runtime.guard import OperationGuard
from a2a_adapters.runtime.upkeep import Upkeep
from a2a_adapters_sql.replicas.calls import Call, pack, packed, unpack
from a2a_adapters_sql.replicas.following import (
    PAUSE_SECONDS,
    FollowedSubscription,
    Follower,
    ReopeningSubscription,
)
from a2a_adapters_sql.replicas.peers import PeerLostError, Peers, check_repeat
from a2a_adapters_sql.replicas.places import Locator

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
    from a2a_adapters_sql.replicas.places import Places

_LISTING_SECONDS = 1.0
"""How long a list waits for what another process has published and not stored yet."""
_SAVE_SECONDS = 4.0
"""How long a change of push notification configs waits until it is stored."""


class Replica(StreamingHandler):
    """Wraps a runtime so that it also reaches the tasks of other processes.

    An operation on a task that another living process works on is forwarded to that process, and
    its answer is returned. The runtime does everything else.

    Args:
        runtime: The runtime of this process.
        places: Knows which process works on a task.
    """

    def __init__(self, runtime: Runtime, places: Places) -> None:
        self.admission = runtime.admission
        self.figures = runtime.figures
        self.runtime = runtime
        self.places = places
        self._peers = Peers(places, self._serve)
        self.locator = Locator(runtime, places)
        self._follower = Follower(runtime, self.locator, self._peers)
        self._upkeep = Upkeep()
        self._is_closing = False
        places.on_lapse(self._on_lapse)

    async def start(self) -> None:
        """Listen to the other processes, and recover the tasks of dead ones."""
        self._peers.start()
        self._upkeep.every(
            self.runtime.limits.sweep_seconds, "letting tasks go", self.locator.let_go
        )
        await self.runtime.start()

    async def aclose(self) -> None:
        """End the work here; remote readers of a task look for it elsewhere."""
        self._is_closing = True
        self._upkeep.close()
        await self.runtime.aclose()
        await self._peers.aclose()

    def _on_lapse(self) -> None:
        self._upkeep.once("letting tasks go", self.locator.let_go)

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
            homes = await self.places.homes_of(context.user.user_name)
            call = Call.of("SaveTasks", params, context)
            await asyncio.gather(*(self._saved_by(process, call) for process in homes))
        page: ListTasksResponse = await self.runtime.on_list_tasks(params, context)
        return page

    async def _saved_by(self, process: str, call: Call) -> None:
        """Have another process store what it has published, if it answers in time."""
        with suppress(PeerLostError, TimeoutError):
            async with asyncio.timeout(_LISTING_SECONDS):
                await self._peers.ask(process, call)

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        """Stop the work on a task."""
        while True:
            with OperationGuard("CancelTask"):
                found = await self._elsewhere(params.id, "CancelTask", params, context)
            if found is not None:
                return Task.FromString(found)
            try:
                task: Task = await self.runtime.on_cancel_task(params, context)
            except ConversationElsewhereError:  # another process has just taken it
                with OperationGuard("CancelTask"):
                    await self.locator.check_recovered(params.id, context)
            else:
                return task

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Give a task a receiver of notifications, or change the one with this id."""
        task_id = params.task_id
        with OperationGuard("CreateTaskPushNotificationConfig"):
            found = await self._elsewhere(task_id, "CreateConfig", params, context)
        if found is not None:
            return TaskPushNotificationConfig.FromString(found)
        config = await self.runtime.on_create_task_push_notification_config(params, context)
        with OperationGuard("CreateTaskPushNotificationConfig"):
            if not await self._store_anew(task_id, context):
                await self._elsewhere(task_id, "CreateConfig", config, context)
        return config

    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Send nothing more to a receiver; it need not exist."""
        task_id = params.task_id
        with OperationGuard("DeleteTaskPushNotificationConfig"):
            if await self._elsewhere(task_id, "DeleteConfig", params, context) is not None:
                return
        await self.runtime.on_delete_task_push_notification_config(params, context)
        with OperationGuard("DeleteTaskPushNotificationConfig"):
            if not await self._store_anew(task_id, context):
                await self._elsewhere(task_id, "DeleteConfig", params, context)

    async def _store_anew(self, task_id: str, context: ServerCallContext) -> bool:
        """Have a process that has read a task, and is about to take an answer, read it again.

        Returns:
            Whether none has taken one yet. The one that does will know the changed configs.

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
        """Answer a message, or have the process answer it that works on its conversation."""
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
                except ConversationElsewhereError:  # it is being stopped, or has it no more
                    await asyncio.sleep(PAUSE_SECONDS)
                except PeerLostError as error:
                    check_repeat("SendMessage", params, context.user.user_name, error)
                home = await self.locator.home_of(message.task_id, context)

    async def open_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Subscription:
        """Start answering a message, wherever that is done, and return the stream of its events."""
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
        """Return the stream of a task that has not ended."""
        with OperationGuard("SubscribeToTask"):
            place = await self.locator.place_of(params.id, context)
            is_here = self.locator.is_here(params.id, place)
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
        """Return the answer of the other process that works on a task, None if none does."""
        while (process := (await self.locator.place_of(task_id, context)).process) is not None:
            try:
                return await self._peers.ask(process, Call.of(operation, params, context))
            except ConversationElsewhereError:  # it is being stopped, or has it no more
                await asyncio.sleep(PAUSE_SECONDS)
            except PeerLostError as error:
                check_repeat(operation, params, context.user.user_name, error)
        return None

    async def _serve(self, call: Call) -> AsyncGenerator[bytes]:
        """Do what another process calls for."""
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
        runtime, answer = self.runtime, None
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
