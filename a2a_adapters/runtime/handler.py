"""The runtime: every operation of A2A over one executor and one task store."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from a2a.server.request_handlers.request_handler import validate_request_params
from a2a.types import ListTasksResponse, Task
from a2a.utils.errors import (
    A2AError,
    InvalidParamsError,
    TaskNotCancelableError,
)
from a2a.utils.task import apply_history_length, validate_history_length, validate_page_size

from a2a_adapters import states
from a2a_adapters.events import PROGRESS_EXTENSION
from a2a_adapters.limits import Limits
from a2a_adapters.observability.figures import Figures
from a2a_adapters.observability.tasks import report_end
from a2a_adapters.runtime.busy import ServerBusyError
from a2a_adapters.runtime.closing import STOPPED, end_runs
from a2a_adapters.runtime.context import MessageContext
from a2a_adapters.runtime.endings import Endings
from a2a_adapters.runtime.extensions import Extensions
from a2a_adapters.runtime.guard import OperationGuard
from a2a_adapters.runtime.journal import Journal
from a2a_adapters.runtime.optional import OptionalOperations
from a2a_adapters.runtime.push import PushNotifier
from a2a_adapters.runtime.registry import LiveTasks
from a2a_adapters.runtime.requests import check_send
from a2a_adapters.runtime.run import Run, over_error
from a2a_adapters.runtime.store import MemoryTaskStore
from a2a_adapters.runtime.subscriber import Subscriber
from a2a_adapters.runtime.subscription import Subscription

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.cluster.task_store import VersionedTaskStore
    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event
    from a2a.server.tasks import TaskStore
    from a2a.types import (
        AgentCard,
        CancelTaskRequest,
        GetTaskRequest,
        ListTasksRequest,
        Message,
        SendMessageRequest,
        SubscribeToTaskRequest,
    )

    from a2a_adapters.push import PushOptions
    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.optional import MakeExtendedCard


class Runtime(OptionalOperations):
    """Runs any a2a-sdk `AgentExecutor` and keeps its tasks.

    Returned tasks are the runtime's own objects and must not be changed.

    Args:
        executor: What answers the messages.
        card: The agent's card; its input modes and required extensions are enforced.
        task_store: Where tasks are kept; by default in memory, bounded by `limits`.
        limits: Time limits and bounds.
        push: How push notifications are sent; None offers none.
        extended_card: What authenticated callers are told; by default nothing more.
        namespace: Keeps the tasks apart from those of other runtimes with the same store.
    """

    def __init__(
        self,
        executor: AgentExecutor,
        card: AgentCard,
        *,
        task_store: TaskStore | VersionedTaskStore | None = None,
        limits: Limits | None = None,
        push: PushOptions | None = None,
        extended_card: MakeExtendedCard | None = None,
        namespace: str = "",
    ) -> None:
        self._executor = executor
        self._endings = Endings(executor)
        self._card = card
        self._extended_card = extended_card
        self.extensions = Extensions(card)
        self._limits = limits or Limits()
        self._journal = Journal(task_store or MemoryTaskStore(self._limits), namespace)
        self.figures = Figures()
        self._push = PushNotifier(push, self._limits, self.figures.pushes) if push else None
        attach = self._push.attach if self._push else None
        self._live = LiveTasks(
            self._journal,
            self._limits,
            self._endings.give_up,
            partial(report_end, self.figures),
            attach,
        )
        self._is_closing = False

    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Task | Message:
        """Answer a message: wait until its task ends or waits, unless told not to."""
        with OperationGuard("SendMessage"):
            run = await self._start(params, context)
            result = await run.wait(until_begun=params.configuration.return_immediately)
            if isinstance(result, Task):
                return apply_history_length(result, params.configuration)
            return result

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Answer a message: yield the task and then its events until it ends or waits."""
        with OperationGuard("SendStreamingMessage"):
            subscription = await self.open_stream(params, context)
            async for event in subscription.events():
                if isinstance(event, Task):
                    yield apply_history_length(event, params.configuration)
                else:
                    yield event

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Yield the task as it is now and then its events until it ends or waits again."""
        with OperationGuard("SubscribeToTask"):
            subscription = await self.open_subscription(params, context)
            async for event in subscription.events():
                yield event

    async def open_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Subscription:
        """Start answering a message and return the stream of its events.

        Raises:
            A2AError: The message was refused at once. A refusal by the agent itself is
                raised where the subscription is read.
        """
        with OperationGuard("SendStreamingMessage"):
            subscriber = self._subscriber(context)
            run = await self._start(params, context, subscriber)
            return Subscription(subscriber, run.live, self.figures, run)

    async def open_subscription(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> Subscription:
        """Return the stream of a task that has not ended.

        Raises:
            TaskNotFoundError: The caller has no such task.
            UnsupportedOperationError: The task has ended.
        """
        with OperationGuard("SubscribeToTask"):
            if not params.id:
                raise InvalidParamsError("the id of a task is missing")
            live = await self._live.find(params.id, context)
            if live.is_over:
                raise over_error(live)
            subscriber = self._subscriber(context)
            live.subscribe(subscriber)
            live.show(subscriber)
            self._live.watch(live)
            return Subscription(subscriber, live, self.figures, on_close=self._live.release)

    @validate_request_params
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task:
        """Return a task."""
        with OperationGuard("GetTask"):
            validate_history_length(params)
            live = await self._live.find(params.id, context)
            assert live.task is not None  # noqa: S101 - tasks are found once announced
            return apply_history_length(live.task, params)

    @validate_request_params
    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        """Return a page of the caller's tasks, newest first."""
        with OperationGuard("ListTasks"):
            validate_history_length(params)
            if params.HasField("page_size"):
                validate_page_size(params.page_size)
            for live in self._live.of(context.user.user_name):
                if live.page.is_dirty:
                    await live.save()
            listed = await self._journal.list(params, context)
            if await self._live.end_left_behind(listed.tasks, context):
                listed = await self._journal.list(params, context)
            page = ListTasksResponse()
            page.CopyFrom(listed)
            for task in page.tasks:
                if not params.include_artifacts:
                    task.ClearField("artifacts")
                if (shown := apply_history_length(task, params)) is not task:
                    task.CopyFrom(shown)
            return page

    @validate_request_params
    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        """Stop the work on a task.

        Raises:
            TaskNotFoundError: The caller has no such task.
            TaskNotCancelableError: It has ended, or its executor cannot be stopped.
        """
        with OperationGuard("CancelTask"):
            live = await self._live.find(params.id, context)
            if live.is_over:
                raise TaskNotCancelableError
            self._live.hold(live)
            try:
                await self._endings.cancel(live, context)
            finally:
                self._live.release(live)
            if live.state != states.CANCELED or live.task is None:
                raise TaskNotCancelableError
            return live.task

    async def _start(
        self,
        params: SendMessageRequest,
        context: ServerCallContext,
        subscriber: Subscriber | None = None,
    ) -> Run:
        """Begin to answer a message."""
        try:
            return await self._admit(params, context, subscriber)
        except A2AError as error:
            self.figures.refusals[type(error).__name__] += 1
            raise

    async def _admit(
        self,
        params: SendMessageRequest,
        context: ServerCallContext,
        subscriber: Subscriber | None,
    ) -> Run:
        if self._is_closing:
            raise ServerBusyError(STOPPED)
        self.extensions.check(context.requested_extensions, params.message)
        check_send(params, self._card, self._limits)
        if len(self.figures.messages) >= self._limits.runs + self._limits.queued_runs:
            raise ServerBusyError
        live = await self._live_for(params.message, context)
        request = MessageContext(context, params, live)
        if self._push and params.configuration.HasField("task_push_notification_config"):
            with self._live.released_if_it_fails(live):
                config = params.configuration.task_push_notification_config
                await self._push.set(live, config, context)
        run = Run(live, params.message, subscriber)
        execute = run.execute(self._executor, request)
        if self._push and live.receivers:
            execute = self._push.during(execute, live, context)
        execution = asyncio.create_task(execute)
        live.runs.add(execution)
        self.figures.messages.add(run)
        execution.add_done_callback(lambda done: self._ended(run, done))
        return run

    async def _live_for(self, message: Message, context: ServerCallContext) -> LiveTask:
        if not message.task_id:
            return self._live.begin(message.context_id, context)
        live = await self._live.find(message.task_id, context)
        if live.is_over:
            raise over_error(live)
        if message.context_id and message.context_id != live.context_id:
            raise InvalidParamsError(f"Task {live.task_id} belongs to another context")
        self._live.hold(live)
        return live

    def _ended(self, run: Run, execution: asyncio.Task[None]) -> None:
        run.finish()
        self.figures.end(run)
        run.live.runs.discard(execution)
        self._live.release(run.live)

    def _subscriber(self, context: ServerCallContext) -> Subscriber:
        wants_progress = PROGRESS_EXTENSION in context.requested_extensions
        return Subscriber(self._limits.subscriber_events, wants_progress=wants_progress)

    async def aclose(self) -> None:
        """Refuse new messages, give running tasks their time, then end them."""
        self._is_closing = True
        await end_runs(self._live, self._limits.shutdown_seconds)
        if self._push:
            await self._push.aclose(self._limits.shutdown_seconds)
