"""The runtime: every operation of A2A over one executor and one task store."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from a2a.server.cluster.task_store import ConcurrentTaskModificationError
from a2a.server.request_handlers.request_handler import validate_request_params
from a2a.types import Task
from a2a.utils.errors import A2AError, InvalidParamsError, TaskNotCancelableError
from a2a.utils.task import apply_history_length, validate_history_length

from a2a_adapters.contract.events import PROGRESS_EXTENSION
from a2a_adapters.contract.limits import Limits
from a2a_adapters.executor.executor import AdapterExecutor
from a2a_adapters.observability.figures import Figures, report_end
from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import (
    ConversationElsewhereError,
    ServerBusyError,
    StorageUnavailableError,
)
from a2a_adapters.runtime.admission import Admission
from a2a_adapters.runtime.endings import STOPPED, Endings, end_runs
from a2a_adapters.runtime.executions import Executions
from a2a_adapters.runtime.guard import OperationGuard
from a2a_adapters.runtime.identity import identify
from a2a_adapters.runtime.journal import Journal
from a2a_adapters.runtime.live import LiveTask
from a2a_adapters.runtime.messages import AcceptedMessages, Repeated
from a2a_adapters.runtime.optional import OptionalOperations
from a2a_adapters.runtime.push.notifier import PushNotifier
from a2a_adapters.runtime.registry import LiveTasks
from a2a_adapters.runtime.repeats import Repeats
from a2a_adapters.runtime.run import Run, caller_of, check_free, over_error
from a2a_adapters.runtime.runs import Runs
from a2a_adapters.runtime.sent import SentRequests
from a2a_adapters.runtime.store import MemoryTaskStore, validate_listing
from a2a_adapters.runtime.subscriber import Backlog, Subscriber, Subscription, leaving
from a2a_adapters.runtime.takeover import Takeover
from a2a_adapters.runtime.upkeep import PRUNE_SECONDS, Upkeep
from a2a_adapters.storage.memory import MemoryAgentStorage

if TYPE_CHECKING:
    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.cluster.task_store import VersionedTaskStore
    from a2a.server.context import ServerCallContext
    from a2a.server.tasks import TaskStore
    from a2a.types import (
        AgentCard,
        CancelTaskRequest,
        GetTaskRequest,
        ListTasksRequest,
        ListTasksResponse,
        Message,
        SendMessageConfiguration,
        SendMessageRequest,
        SubscribeToTaskRequest,
    )

    from a2a_adapters.runtime.optional import MakeExtendedCard
    from a2a_adapters.runtime.push import PushOptions
    from a2a_adapters.storage.interface import AgentStorage


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
        storage: Where tasks and everything else are kept, in place of `task_store`.
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
        storage: AgentStorage | None = None,
    ) -> None:
        self._executor = executor
        self._endings = Endings(executor)
        self._extended_card = extended_card
        self.limits = limits or Limits()
        self.admission = Admission(card, self.limits)
        own = storage or MemoryAgentStorage(self.limits, MemoryTaskStore(self.limits))
        self._storage = own
        self._journal = Journal(task_store or own.tasks, namespace)
        adapter = executor.adapter if isinstance(executor, AdapterExecutor) else None
        may_reply = adapter is None or adapter.may_reply
        self._messages = AcceptedMessages(own, may_reply=may_reply)
        self._sent = SentRequests(own, adapter if self._journal.knows_owners else None)
        self._executions = Executions(self.limits.runs + self.limits.queued_runs)
        self._upkeep = Upkeep()
        self.figures = Figures(self._executions.runs, lambda: self.live.owned)
        self._push = PushNotifier(push, own, self.figures.pushes) if push else None
        attach = self._push.attach if self._push else None
        self.live = LiveTasks(
            self._journal,
            self.limits,
            self._endings.give_up,
            partial(report_end, self.figures),
            attach,
        )
        self._repeats = Repeats(self.live, self._messages, self.figures)
        self._runs = Runs(
            executor,
            self._executions,
            self.live,
            self._journal,
            self._messages,
            self._sent,
            self.figures,
            self._push,
        )
        self.recovery = Takeover(own, self.live, self._runs, executor, self.limits, self.figures)
        self._backlog = Backlog(self.limits.subscribers_bytes)

    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Task | Message:
        """Answer a message: wait until its task ends or waits, unless told not to."""
        with OperationGuard("SendMessage"):
            run = await self._start(params, context)
            until_begun = params.configuration.return_immediately
            if isinstance(run, Repeated):
                result = await self._repeats.answer(run, context, until_begun=until_begun)
            else:
                result = await run.wait(until_begun=until_begun)
            if isinstance(result, Task):
                return apply_history_length(result, params.configuration)
            return result

    async def open_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Subscription:
        """Start answering a message and return the stream of its events."""
        with OperationGuard("SendStreamingMessage"):
            if params.configuration.return_immediately:  # of no effect here (section 3.2.2)
                params.configuration.return_immediately = False
            subscriber = self.reader(context, params.configuration)
            run = await self._start(params, context, subscriber)
            if isinstance(run, Repeated):
                return await self._repeats.read(run, context, subscriber)
            leave = leaving(run.live, LiveTask.unsubscribe, subscriber)
            return Subscription(subscriber, self.figures, subscriber, leave)

    async def open_subscription(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> Subscription:
        """Return the stream of a task that has not ended."""
        with OperationGuard("SubscribeToTask"):
            if not params.id:
                raise InvalidParamsError("the id of a task is missing")
            live = await self.live.find(params.id, context)
            if live.is_over:
                raise over_error(live)
            subscriber = self.reader(context)
            live.subscribe(subscriber)
            live.show(subscriber)
            self.live.watch(live)
            leave = leaving(live, self.live.leave, subscriber)
            return Subscription(subscriber, self.figures, on_close=leave)

    @validate_request_params
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task:
        """Return a task."""
        with OperationGuard("GetTask"):
            validate_history_length(params)
            live = await self.live.find(params.id, context)
            assert live.shown is not None  # noqa: S101 - tasks are found once announced
            return apply_history_length(live.shown, params)

    @validate_request_params
    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        """Return a page of the caller's tasks, newest first."""
        with OperationGuard("ListTasks"):
            validate_listing(params)
            await self.live.save_dirty(context.user.user_name)
            listed = await self._journal.list(params, context)
            if await self.live.end_left_behind(listed.tasks, context):
                listed = await self._journal.list(params, context)
            for task in listed.tasks:
                if not params.include_artifacts:
                    task.ClearField("artifacts")
                if (shown := apply_history_length(task, params)) is not task:
                    task.CopyFrom(shown)
            return listed

    @validate_request_params
    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        """Stop the work on a task.

        Raises:
            TaskNotFoundError: The caller has no such task.
            TaskNotCancelableError: It has ended, or its executor cannot be stopped.
            ConversationElsewhereError: Another process works on it.
        """
        with OperationGuard("CancelTask"):
            live = await self.live.find(params.id, context)
            if self._is_left_behind(live):
                self.live.forget(live)
                await self.recovery.sweep()
                live = await self.live.find(params.id, context)
                self._check_ours(live)
            if live.is_over:
                raise TaskNotCancelableError
            with self.live.held(live):
                await self._cancel(live, context)
            if live.state != states.CANCELED or live.task is None:
                raise TaskNotCancelableError
            return live.task

    async def _cancel(self, live: LiveTask, context: ServerCallContext) -> None:
        try:
            await self._endings.cancel(live, context)
        except ConcurrentTaskModificationError as error:
            raise ConversationElsewhereError from error

    async def _start(
        self,
        params: SendMessageRequest,
        context: ServerCallContext,
        subscriber: Subscriber | None = None,
    ) -> Run | Repeated:
        """Begin to answer a message, or find what it began when it came first."""
        try:
            return await self._admit(params, context, subscriber)
        except A2AError as error:
            if not isinstance(error, ConversationElsewhereError):  # which is no refusal
                self.figures.refusals[type(error).__name__] += 1
            raise

    async def _admit(
        self,
        params: SendMessageRequest,
        context: ServerCallContext,
        subscriber: Subscriber | None,
    ) -> Run | Repeated:
        if self._runs.is_closed:
            raise ServerBusyError(STOPPED)
        self.admission.check(params, context.requested_extensions)
        if not self._executions.has_room(caller_of(context)):
            raise ServerBusyError
        message, owner = params.message, context.user.user_name
        by_id = self.admission.deduplicates(context.requested_extensions)
        if message.task_id:
            live = await self._follow_up(message, context)
            sent = identify(params, owner, by_id=by_id)
        else:
            sent = identify(params, owner, by_id=by_id)
            live = self.live.begin(message, context)
        is_repeat = self._messages.is_repeat(sent, message, live)
        if not is_repeat:
            self._check_ours(live)
            # A stream can still be told of a refusal, and so can who waits.
            is_deaf = params.configuration.return_immediately and subscriber is None
            check_free(live, is_deaf=is_deaf)
        with self.live.held(live):
            await self._sent.keep(live, params, context)
            if self._push and live.draft is not None:
                await self._push.begin(live, params, context)
            make = partial(self.recovery.begin, params, context, subscriber)
            return await self._messages.begin(sent, message, live, make)

    async def _follow_up(self, message: Message, context: ServerCallContext) -> LiveTask:
        """Return the task that a message names."""
        live = await self.live.find(message.task_id, context)
        if message.context_id and message.context_id != live.context_id:
            raise InvalidParamsError(f"Task {live.task_id} belongs to another context")
        message.context_id = live.context_id
        return live

    def _check_ours(self, live: LiveTask) -> None:
        """Refuse to work on what another process works on, or has left and is yet to be recovered.

        Raises:
            ConversationElsewhereError: It was begun elsewhere.
        """
        if self._is_left_behind(live):
            self.live.forget(live)  # the next request reads it anew
            raise ConversationElsewhereError

    def _is_left_behind(self, live: LiveTask) -> bool:
        """Tell whether a task was begun by a process that is not this one."""
        has_begun = live.state in states.ACTIVE and not live.runs
        return has_begun and self._journal.knows_owners

    def reader(
        self, context: ServerCallContext, asked: SendMessageConfiguration | None = None
    ) -> Subscriber:
        """Return the queue of a caller that reads a stream."""
        is_bounded = asked is not None and asked.HasField("history_length")
        return Subscriber(
            self.limits,
            self._backlog,
            wants_progress=PROGRESS_EXTENSION in context.requested_extensions,
            history_length=asked.history_length if asked is not None and is_bounded else None,
        )

    async def start(self) -> None:
        """Go on with, or end, what processes that are gone have left behind; now and later."""
        self._storage.share(self.live.room)
        with suppress(StorageUnavailableError):  # then it is done as soon as it can be
            await self.recovery.sweep()
        sweep_seconds = self.limits.sweep_seconds
        self._upkeep.every(sweep_seconds, "a sweep", self.recovery.sweep)
        self._upkeep.every(sweep_seconds, "leaving runs behind", self._executions.leave_behind)
        self._upkeep.every(PRUNE_SECONDS, "pruning", self._prune)
        if self._push:
            resume = partial(self._push.resume, self.live.find)
            self._upkeep.every(sweep_seconds, "a delivery", resume)

    async def _prune(self) -> None:
        limits = self.limits
        await self._storage.prune(time.time() - limits.stored_seconds, limits.stored_tasks)

    def on_storage_trouble(self) -> None:
        """Refuse those who wait for something to be stored; what runs goes on."""
        for run in tuple(self._executions.runs):
            run.give_up_waiting(StorageUnavailableError())

    async def aclose(self) -> None:
        """Refuse new messages, give running tasks their time, then end them."""
        self._runs.is_closed = True
        self._upkeep.close()
        await end_runs(self.live, self.limits.shutdown_seconds, self.recovery.leave)
        if self._push:
            await self._push.aclose(self.limits.shutdown_seconds)
