"""A runtime beside others: any of them does any operation, wherever the task is."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from a2a.server.context import ServerCallContext
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

from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import ConversationElsewhereError, StorageUnavailableError
from a2a_adapters.runtime.guard import OperationGuard
from a2a_adapters.runtime.handler import Runtime
from a2a_adapters.runtime.subscriber import Subscription
from a2a_adapters_sql.replicas.calls import Call, pack, unpack
from a2a_adapters_sql.replicas.following import Following
from a2a_adapters_sql.replicas.lost_calls import check_repeat, left_to_send
from a2a_adapters_sql.replicas.outgoing import packed
from a2a_adapters_sql.replicas.peers import PeerLostError, Peers
from a2a_adapters_sql.replicas.places import Place
from a2a_adapters_sql.replicas.reopening import ReopeningSubscription
from a2a_adapters_sql.replicas.settling import (
    has_ended,
    id_of,
    settles,
    status_after,
    until_settled,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from a2a.server.events import Event
    from a2a.types import ListTasksResponse, TaskStatus
    from google.protobuf.message import Message as Proto

    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.messages import Repeated
    from a2a_adapters.runtime.subscriber import Subscriber
    from a2a_adapters_sql.replicas.places import Places

_PAUSE_SECONDS = 0.5
"""How often a task is looked at that no living process works on."""
_LISTING_SECONDS = 1.0
"""How long a list waits for what a process has told and not stored yet."""


class SharedRuntime(Runtime):
    """Serves an agent together with other processes that have the same storage.

    What concerns a task that another living process works on is done there, and its answer is
    passed on; everything else is done here.
    """

    _peers: Peers

    def __init__(self, places: Places, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.places = places

    async def start(self) -> None:
        """Listen to the others, and go on with what processes that are gone have left."""
        assert self.places.bus is not None  # noqa: S101 - else there is nobody to share with
        self._peers = Peers(self.places.bus, self.places, self._serve)
        self._storage.share(self._live.room)
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
            homes = await self.places.homes_of(context.user.user_name)
            call = Call.of("SaveTasks", params, context)
            await asyncio.gather(*(self._saved_by(process, call) for process in homes))
            page: ListTasksResponse = await super().on_list_tasks(params, context)
            return page

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        """Stop the work on a task."""
        with OperationGuard("CancelTask"):
            found = await self._elsewhere(params.id, "CancelTask", params, context)
            while found is None:
                with suppress(ConversationElsewhereError):  # another process has just taken it
                    task: Task = await super().on_cancel_task(params, context)
                    return task
                found = await self._elsewhere(params.id, "CancelTask", params, context)
            return Task.FromString(found)

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Give a task a receiver of notifications, or change the one with this id."""
        with OperationGuard("CreateTaskPushNotificationConfig"):
            found = await self._elsewhere(params.task_id, "CreateConfig", params, context)
            if found is not None:
                return TaskPushNotificationConfig.FromString(found)
            config = await super().on_create_task_push_notification_config(params, context)
            if not await self._live.store_anew(params.task_id, context):
                await self._elsewhere(params.task_id, "CreateConfig", config, context)
            return config

    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Send nothing more to a receiver; it need not exist."""
        with OperationGuard("DeleteTaskPushNotificationConfig"):
            found = await self._elsewhere(params.task_id, "DeleteConfig", params, context)
            if found is None:
                await super().on_delete_task_push_notification_config(params, context)
                if not await self._live.store_anew(params.task_id, context):
                    await self._elsewhere(params.task_id, "DeleteConfig", params, context)

    async def _send(self, params: SendMessageRequest, context: ServerCallContext) -> Task | Message:
        task_id = params.message.task_id
        found = await self._elsewhere(task_id, "SendMessage", params, context)
        while found is None:
            try:
                return await super()._send(params, context)
            except ConversationElsewhereError as error:
                params.message.task_id = task_id
                found = await self._passed_on(error.process, params, context)
        return cast("Task | Message", next(unpack(found)))

    async def _passed_on(
        self, process: str, params: SendMessageRequest, context: ServerCallContext
    ) -> bytes | None:
        """Return the answer of who has the conversation (no process: has just taken it), if any."""
        try:
            if not process:
                return await self._elsewhere(params.message.task_id, "SendMessage", params, context)
            if await self._is_reachable(process):
                return await self._peers.ask(process, Call.of("SendMessage", params, context))
        except ConversationElsewhereError:  # another has, or it is being stopped
            await asyncio.sleep(_PAUSE_SECONDS)
        except PeerLostError as error:
            check_repeat("SendMessage", params, context.user.user_name, error)
        return None

    async def _is_reachable(self, process: str) -> bool:
        """Tell whether a process lives; what it has left behind is gone on with here if not."""
        if await self.places.is_alive(process):
            return True
        await self._sweep()
        await asyncio.sleep(0)  # what goes on takes its turn before what is new
        return False

    async def _open(self, params: SendMessageRequest, context: ServerCallContext) -> Subscription:
        task_id = params.message.task_id
        process = (await self._place(task_id, context)).process
        if process is None:
            try:
                opened = await super()._open(params, context)
                again = partial(self._open, params, context)
                return ReopeningSubscription(opened, again) if task_id else opened
            except ConversationElsewhereError as error:
                params.message.task_id = task_id
                process = error.process
        subscriber = self._subscriber(context, params.configuration)
        call = Call.of("SendStreamingMessage", params, context)
        return await self._followed(task_id, context, subscriber, call, process)

    async def _check_place(self, live: LiveTask) -> None:
        """Leave a task to the process that had begun to work on it when it was read."""
        if not self._is_left_behind(live):
            return
        load = partial(self._journal.load, live.task_id, ServerCallContext(user=live.user))
        before, place = await load(), await self.places.place_of(live.owner, live.task_id)
        after = await load()
        # Between two looks another process may have taken the task, or ended its work on it.
        has_moved = before and after and before.version != after.version
        is_over = after and after.task.status.state not in states.ACTIVE
        if is_over and self._is_left_behind(live):
            self._live.forget(live)  # else all who want something of it would wait for each other
        if place.process is not None or has_moved or is_over:
            raise ConversationElsewhereError

    async def _check_turn(self, live: LiveTask, *, is_repeat: bool) -> None:
        """Leave an answer that any process can take to the one that has the conversation."""
        await self._check_place(live)
        if live.task is not None and not live.runs and live.page.is_anybodys(live.task):
            process = await self.places.runner_of(live.owner, live.context_id)
            if process is not None:
                raise ConversationElsewhereError(process)
        await super()._check_turn(live, is_repeat=is_repeat)

    async def open_subscription(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> Subscription:
        """Return the stream of a task that has not ended."""
        with OperationGuard("SubscribeToTask"):
            place = await self._place(params.id, context)
            is_here = self._is_here(params.id, place)
            if is_here or (await self._live.find(params.id, context)).is_over:
                return await super().open_subscription(params, context)
            return await self._followed(params.id, context, self._subscriber(context))

    async def _read_again(
        self,
        first: Repeated,
        params: SendMessageRequest,
        context: ServerCallContext,
        subscriber: Subscriber,
    ) -> Subscription:
        while (place := await self._place(first.task_id, context)).process is None:
            is_here = first.run is not None or self._is_here(first.task_id, place)
            if is_here or await self._repeats.is_answered(first, context):
                return await super()._read_again(first, params, context, subscriber)
            await asyncio.sleep(_PAUSE_SECONDS)  # until a process has taken it over
        call = Call.of("SendStreamingMessage", params, context)
        task_id = params.message.task_id
        return await self._followed(task_id, context, subscriber, call, place.process)

    async def _place(self, task_id: str, context: ServerCallContext) -> Place:
        """Return where a task is; one that lives here no longer is forgotten."""
        live = self._live.known(task_id)
        if live and live.runs and not self.places.is_unbroken(live.known_since):
            await self._takeover.let_go()  # what others have taken meanwhile
            live = self._live.known(task_id)
        if not task_id or (live and live.runs):
            return Place(is_ours=True)
        owner = context.user.user_name
        place = await self.places.place_of(owner, task_id)
        live = self._live.known(task_id)
        is_used = live and (live.runs or live.holders or live.owner != owner or live.task is None)
        if live and not is_used and not place.is_ours:
            self._live.forget(live)
        return place

    def _is_here(self, task_id: str, place: Place) -> bool:
        """Tell whether a task is ours, and not one whose work has yet to go on here."""
        live = self._live.known(task_id)
        return place.is_ours and not (task_id and (live is None or self._is_left_behind(live)))

    async def _elsewhere(
        self, task_id: str, operation: str, params: Proto, context: ServerCallContext
    ) -> bytes | None:
        """Return what another process answers if the task is there, None if it is not."""
        while (process := (await self._place(task_id, context)).process) is not None:
            try:
                return await self._peers.ask(process, Call.of(operation, params, context))
            except ConversationElsewhereError:  # it is being stopped, or has it no more
                await asyncio.sleep(_PAUSE_SECONDS)
            except PeerLostError as error:
                check_repeat(operation, params, context.user.user_name, error)
        return None

    async def _saved_by(self, process: str, call: Call) -> None:
        """Have another process store what it has told; one that is dead or stopped is left out."""
        with suppress(PeerLostError, TimeoutError):
            async with asyncio.timeout(_LISTING_SECONDS):
                await self._peers.ask(process, call)

    async def _followed(
        self,
        task_id: str,
        context: ServerCallContext,
        subscriber: Subscriber,
        call: Call | None = None,
        process: str | None = None,
    ) -> Subscription:
        following = Following(subscriber, self._events(task_id, context, call, process))
        try:
            await following.begun()
        except BaseException:
            following.close()
            raise
        return Subscription(subscriber, self.figures, following, following.close)

    async def _events(
        self, task_id: str, context: ServerCallContext, call: Call | None, process: str | None
    ) -> AsyncGenerator[Sequence[Event]]:
        """Yield a task's events, whoever works on it, until it ends or asks, after an open call."""
        told: TaskStatus | None = None
        while True:
            place = Place(process) if process else await self._place(task_id, context)
            if place.is_ours and not self._is_here(task_id, place):
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            before, process, is_at_rest = told, None, call is None and place == Place()
            try:
                batches = (
                    self._events_at_rest(task_id, context, told)
                    if is_at_rest
                    else self._events_at(place, task_id, context, call)
                )
                async with aclosing(until_settled(batches, before)) as events:
                    async for batch in events:
                        task_id = task_id or id_of(batch[0])
                        told = status_after(batch, told)
                        yield batch
                if has_ended(told, before, is_at_rest=is_at_rest):
                    return
                call = None
            except ConversationElsewhereError as error:
                process = error.process if await self._is_reachable(error.process) else None
            except PeerLostError as error:
                call = left_to_send(call, error) if told is None else None
            except (StorageUnavailableError, UnsupportedOperationError):
                if told is None:
                    raise
            await asyncio.sleep(_PAUSE_SECONDS)  # until it is clear whose the task is now

    async def _events_at_rest(
        self, task_id: str, context: ServerCallContext, told: TaskStatus | None
    ) -> AsyncGenerator[Sequence[Event]]:
        """Yield a task that nobody works on if it has ended or asked since it was told."""
        task = (await self._live.find(task_id, context)).shown
        assert task is not None  # noqa: S101 - tasks are found once announced
        if told is None or settles(task.status, told):
            yield [task]

    async def _events_at(
        self, place: Place, task_id: str, context: ServerCallContext, call: Call | None
    ) -> AsyncGenerator[Sequence[Event]]:
        """Yield a task's events as long as it stays where it is."""
        subscribe = SubscribeToTaskRequest(id=task_id)
        if place.process is not None:
            call = call or Call.of("SubscribeToTask", subscribe, context)
            async with aclosing(self._peers.read(place.process, call)) as parts:
                async for part in parts:
                    yield list(unpack(part))
            return
        if call is None:
            subscription = await super().open_subscription(subscribe, context)
        else:  # whom it was for is gone, and has not heard it
            sent = SendMessageRequest.FromString(call.params)
            subscription = await super()._open(sent, context)
        async with aclosing(subscription.events()) as events:
            async for event in events:
                yield [event]

    async def _serve(self, call: Call) -> AsyncGenerator[bytes]:
        """Do what another process calls for."""
        context = call.context
        if self._runs.is_closed and call.operation in {"SendMessage", "SendStreamingMessage"}:
            raise ConversationElsewhereError
        match call.operation:
            case "SendStreamingMessage":
                sent = SendMessageRequest.FromString(call.params)
                async for part in packed(await super()._open(sent, context)):
                    yield part
            case "SubscribeToTask":
                asked = SubscribeToTaskRequest.FromString(call.params)
                async for part in packed(await super().open_subscription(asked, context)):
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
                return pack([await super()._send(SendMessageRequest.FromString(params), context)])
            case "SaveTasks":
                await self._live.save_dirty(context.user.user_name)
                return b""
        raise UnsupportedOperationError(operation)
