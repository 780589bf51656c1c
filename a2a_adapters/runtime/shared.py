"""A runtime beside others: any of them does any operation, wherever the task is."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

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
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import UnsupportedOperationError

from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.runtime.calls import Call, pack, unpack
from a2a_adapters.runtime.following import Following
from a2a_adapters.runtime.guard import OperationGuard
from a2a_adapters.runtime.handler import Runtime
from a2a_adapters.runtime.messages import is_known_again
from a2a_adapters.runtime.peers import PeerLostError, Peers
from a2a_adapters.runtime.subscription import Subscription
from a2a_adapters.storage.health import PATIENCE_SECONDS
from a2a_adapters.storage.interface import Place

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event
    from a2a.types import ListTasksResponse
    from google.protobuf.message import Message as Proto

    from a2a_adapters.runtime.messages import Repeated
    from a2a_adapters.runtime.subscriber import Subscriber

_PAUSE_SECONDS = 0.5
"""How often a task is looked at that no living process works on."""


class SharedRuntime(Runtime):
    """Serves an agent together with other processes that have the same storage.

    What concerns a task that another living process works on is done there, and its answer is
    passed on; everything else is done here. The arguments are those of `Runtime`.
    """

    _peers: Peers

    async def start(self) -> None:
        """Listen to the others, and go on with what processes that are gone have left."""
        bus = self._storage.bus
        assert bus is not None  # noqa: S101 - else there is nobody to share with
        self._peers = Peers(bus, self._storage, self._serve)
        await super().start()

    async def aclose(self) -> None:
        """End what runs here; whoever follows it looks for it elsewhere."""
        await super().aclose()
        await self._peers.aclose()

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task:
        """Return a task."""
        with OperationGuard("GetTask"):
            found = await self._elsewhere(params.id, "GetTask", params, context)
            if found is None:
                task: Task = await super().on_get_task(params, context)
                return task
            return Task.FromString(found)

    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        """Return a page of the caller's tasks, newest first."""
        with OperationGuard("ListTasks"):
            homes = await self._storage.homes_of(context.user.user_name)
            call = Call.of("SaveTasks", params, context)
            await asyncio.gather(*(self._told(process, call) for process in homes))
            page: ListTasksResponse = await super().on_list_tasks(params, context)
            return page

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        """Stop the work on a task."""
        with OperationGuard("CancelTask"):
            found = await self._elsewhere(params.id, "CancelTask", params, context)
            if found is None:
                task: Task = await super().on_cancel_task(params, context)
                return task
            return Task.FromString(found)

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Give a task a receiver of notifications, or change the one with this id."""
        with OperationGuard("CreateTaskPushNotificationConfig"):
            found = await self._elsewhere(params.task_id, "CreateConfig", params, context)
            if found is None:
                return await super().on_create_task_push_notification_config(params, context)
            return TaskPushNotificationConfig.FromString(found)

    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Send nothing more to a receiver; it need not exist."""
        with OperationGuard("DeleteTaskPushNotificationConfig"):
            found = await self._elsewhere(params.task_id, "DeleteConfig", params, context)
            if found is None:
                await super().on_delete_task_push_notification_config(params, context)

    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Task | Message:
        """Answer a message: wait until its task ends or waits, unless told not to."""
        with OperationGuard("SendMessage"):
            task_id = params.message.task_id
            found = await self._elsewhere(task_id, "SendMessage", params, context)
            if found is None:
                return await super().on_message_send(params, context)
            [answer] = unpack(found)
            assert isinstance(answer, Task | Message)  # noqa: S101 - it sends no other
            return answer

    async def open_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Subscription:
        """Start answering a message and return the stream of its events."""
        with OperationGuard("SendStreamingMessage"):
            task_id = params.message.task_id
            if (await self._place(task_id, context)).process is None:
                return await super().open_stream(params, context)
            subscriber = self._subscriber(context, params.configuration)
            call = Call.of("SendStreamingMessage", params, context)
            return await self._followed(task_id, context, subscriber, call)

    async def open_subscription(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> Subscription:
        """Return the stream of a task that has not ended."""
        with OperationGuard("SubscribeToTask"):
            place = await self._place(params.id, context)
            is_here = place.is_ours or not params.id
            if is_here or (await self._live.find(params.id, context)).is_over:
                return await super().open_subscription(params, context)
            return await self._followed(params.id, context, self._subscriber(context))

    async def _read_again(
        self, first: Repeated, message: Message, context: ServerCallContext, subscriber: Subscriber
    ) -> Subscription:
        if (await self._place(first.task_id, context)).process is None:
            return await super()._read_again(first, message, context, subscriber)
        return await self._followed(first.task_id, context, subscriber)

    async def _place(self, task_id: str, context: ServerCallContext) -> Place:
        """Return where a task is; one that lives here no longer is forgotten."""
        live = self._live.known(task_id)
        if not task_id or (live is not None and live.runs):
            return Place(is_ours=True)
        owner = context.user.user_name
        place = await self._storage.place_of(owner, task_id)
        live = self._live.known(task_id)
        if live is None or live.runs or live.owner != owner or live.task is None:
            return place
        if not place.is_ours:
            self._live.forget(live)
        return place

    async def _elsewhere(
        self, task_id: str, operation: str, params: Proto, context: ServerCallContext
    ) -> bytes | None:
        """Return what another process answers if the task is there, None if it is not."""
        while (process := (await self._place(task_id, context)).process) is not None:
            try:
                return await self._peers.ask(process, Call.of(operation, params, context))
            except PeerLostError as error:
                if error.was_heard and not _may_repeat(operation, params):
                    raise StorageUnavailableError from error
        return None

    async def _told(self, process: str, call: Call) -> None:
        """Have another process know something, before it is asked for what it has stored."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                with suppress(PeerLostError):
                    await self._peers.ask(process, call)
        except TimeoutError as error:
            raise StorageUnavailableError from error

    async def _followed(
        self,
        task_id: str,
        context: ServerCallContext,
        subscriber: Subscriber,
        call: Call | None = None,
    ) -> Subscription:
        following = Following(subscriber, self._events(task_id, context, call))
        try:
            await following.begun()
        except BaseException:
            following.close()
            raise
        return Subscription(subscriber, self.figures, following, following.close)

    async def _events(
        self, task_id: str, context: ServerCallContext, call: Call | None
    ) -> AsyncGenerator[Sequence[Event]]:
        """Yield a task's events, whoever works on it, until it ends or asks."""
        told: TaskStatus | None = None
        while True:
            place = await self._place(task_id, context)
            if place == Place() and call is None:
                task = (await self._live.find(task_id, context)).shown
                assert task is not None  # noqa: S101 - tasks are found once announced
                if told is None or _settles(task.status, told):
                    yield [task]
                if task.status.state in states.TERMINAL or _settles(task.status, told):
                    return
                told = task.status
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            try:
                batches = self._events_at(place, task_id, context, call)
                async with aclosing(_until_settled(batches, told)) as events:
                    async for batch in events:
                        told = _status_after(batch, told)
                        yield batch
                if told is not None and told.state in states.SETTLED:
                    return
                call = None
            except PeerLostError as error:
                call = _left_to_send(call, error) if told is None else None
            except UnsupportedOperationError:  # it has just ended
                if told is None:
                    raise
            await asyncio.sleep(_PAUSE_SECONDS)  # until it is clear whose the task is now

    async def _events_at(
        self, place: Place, task_id: str, context: ServerCallContext, call: Call | None
    ) -> AsyncGenerator[Sequence[Event]]:
        """Yield a task's events as long as it stays where it is."""
        subscribe = SubscribeToTaskRequest(id=task_id)
        sent = None if call is None else SendMessageRequest.FromString(call.params)
        if place.process is not None:
            call = call or Call.of("SubscribeToTask", subscribe, context)
            async with aclosing(self._peers.read(place.process, call)) as parts:
                async for part in parts:
                    yield list(unpack(part))
        else:
            if sent is not None:  # whom it was for is gone, and has not heard it
                subscription = await super().open_stream(sent, context)
            else:
                subscription = await super().open_subscription(subscribe, context)
            async with aclosing(subscription.events()) as events:
                async for event in events:
                    yield [event]

    async def _serve(self, call: Call) -> AsyncGenerator[bytes]:
        """Do what another process calls for."""
        context = call.context
        match call.operation:
            case "SendStreamingMessage":
                sent = SendMessageRequest.FromString(call.params)
                async for part in _packed(await super().open_stream(sent, context)):
                    yield part
            case "SubscribeToTask":
                asked = SubscribeToTaskRequest.FromString(call.params)
                async for part in _packed(await super().open_subscription(asked, context)):
                    yield part
            case _:
                yield await self._answer(call.operation, call.params, context)

    async def _answer(self, operation: str, params: bytes, context: ServerCallContext) -> bytes:
        match operation:
            case "GetTask":
                task: Task = await super().on_get_task(GetTaskRequest.FromString(params), context)
                return task.SerializeToString()
            case "CancelTask":
                task = await super().on_cancel_task(CancelTaskRequest.FromString(params), context)
                return task.SerializeToString()
            case "CreateConfig":
                config = TaskPushNotificationConfig.FromString(params)
                told = await super().on_create_task_push_notification_config(config, context)
                return told.SerializeToString()
            case "DeleteConfig":
                which = DeleteTaskPushNotificationConfigRequest.FromString(params)
                await super().on_delete_task_push_notification_config(which, context)
                return b""
            case "SendMessage":
                sent = SendMessageRequest.FromString(params)
                return pack([await super().on_message_send(sent, context)])
            case "SaveTasks":
                await self._live.save_dirty(context.user.user_name)
                return b""
        raise UnsupportedOperationError(operation)


async def _packed(subscription: Subscription) -> AsyncGenerator[bytes]:
    try:
        while updates := await subscription.take():
            yield pack(update.event for update in updates)
    finally:
        subscription.close()


def _may_repeat(operation: str, params: Proto) -> bool:
    """Tell whether an operation that may have been done can be done once more."""
    if isinstance(params, SendMessageRequest):
        return is_known_again(params.message)
    return operation in {"GetTask", "DeleteConfig"}


def _left_to_send(call: Call | None, error: PeerLostError) -> Call | None:
    """Return the message that is yet to be sent to whoever has its task now.

    Raises:
        StorageUnavailableError: Nobody knows whether it was taken.
    """
    if call is None or not error.was_heard:
        return call
    if not is_known_again(SendMessageRequest.FromString(call.params).message):
        raise StorageUnavailableError from error
    return call


def _status_after(events: Sequence[Event], status: TaskStatus | None) -> TaskStatus | None:
    """Return the status of a task after its latest events."""
    for event in events:
        if isinstance(event, Message):
            return TaskStatus(state=states.COMPLETED)
        if isinstance(event, Task | TaskStatusUpdateEvent):
            status = event.status
    return status


async def _until_settled(
    batches: AsyncGenerator[Sequence[Event]], before: TaskStatus | None
) -> AsyncGenerator[Sequence[Event]]:
    """Yield events to the end of the task or its next question, which may have come unheard."""
    async with aclosing(batches):
        async for batch in batches:
            yield batch
            if _settles(_status_after(batch, before), before):
                return


def _settles(status: TaskStatus | None, before: TaskStatus | None) -> bool:
    """Tell whether a task has ended or asked since, perhaps the same as before once more."""
    if status is None or before is None:
        return False
    return status.state in states.SETTLED and status != before
