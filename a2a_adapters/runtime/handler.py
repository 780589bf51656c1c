"""The runtime: every operation of A2A over one executor and one task store."""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from a2a.server.cluster.task_store import ConcurrentTaskModificationError
from a2a.types import ListTaskPushNotificationConfigsResponse, Task
from a2a.utils.errors import (
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    UnsupportedOperationError,
)
from a2a.utils.proto_utils import validate_proto_required_fields
from a2a.utils.task import apply_history_length, validate_history_length

from a2a_adapters.contract.events import PROGRESS_EXTENSION
from a2a_adapters.contract.limits import Limits
from a2a_adapters.observability.failures import OperationGuard
from a2a_adapters.observability.figures import Figures, report_end
from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import ConversationElsewhereError, StorageUnavailableError
from a2a_adapters.runtime.admission import Admission, speaks_v03, validate_listing
from a2a_adapters.runtime.cancelling import Cancellation
from a2a_adapters.runtime.duplicates import Duplicate, Duplicates
from a2a_adapters.runtime.generations import LongPolls, resume
from a2a_adapters.runtime.interface import Recovery, StreamingHandler
from a2a_adapters.runtime.live import LiveTask
from a2a_adapters.runtime.messages import Messages
from a2a_adapters.runtime.push.notifier import PushNotifier
from a2a_adapters.runtime.registry import LiveTasks
from a2a_adapters.runtime.run import terminal_error
from a2a_adapters.runtime.shutdown import end_runs
from a2a_adapters.runtime.subscriber import (
    Backlog,
    RecentUpdates,
    Subscriber,
    Subscription,
    leaving,
)
from a2a_adapters.runtime.upkeep import PRUNE_SECONDS, Upkeep
from a2a_adapters.storage.interface import AgentStorage
from a2a_adapters.storage.journal import Journal
from a2a_adapters.storage.memory import MemoryAgentStorage

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.cluster.task_store import VersionedTaskStore
    from a2a.server.context import ServerCallContext
    from a2a.server.tasks import TaskStore
    from a2a.types import (
        AgentCard,
        CancelTaskRequest,
        DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest,
        GetTaskRequest,
        ListTaskPushNotificationConfigsRequest,
        ListTasksRequest,
        ListTasksResponse,
        Message,
        SendMessageConfiguration,
        SendMessageRequest,
        SubscribeToTaskRequest,
        TaskPushNotificationConfig,
    )

    from a2a_adapters.runtime.push import PushOptions

    _AboutReceivers: TypeAlias = (
        TaskPushNotificationConfig
        | GetTaskPushNotificationConfigRequest
        | ListTaskPushNotificationConfigsRequest
        | DeleteTaskPushNotificationConfigRequest
    )


MakeExtendedCard: TypeAlias = "Callable[[ServerCallContext], AgentCard]"
"""Returns the extended card for a caller."""


class RecoverableStorage(AgentStorage):
    """A storage that outlives the processes that use it."""

    @abstractmethod
    def recovery(self, runtime: Runtime) -> Recovery:
        """Return the recovery of dead processes' tasks."""


class Runtime(StreamingHandler):
    """Runs any a2a-sdk `AgentExecutor` and keeps its tasks.

    Returned tasks are the runtime's own objects and must not be changed.

    Args:
        executor: Answers the messages.
        card: The agent's card; its input modes and required extensions are enforced.
        task_store: Stores the tasks; by default in memory, bounded by `limits`.
        limits: Time limits and bounds.
        push: Enables push notifications; None offers none.
        extended_card: Makes the card for authenticated callers; None offers none.
        namespace: Keeps the tasks apart from those of other runtimes with the same store.
        storage: Stores tasks and everything else, in place of `task_store`.
        counts_changes: Whether tasks have a generation (A2A 1.1 as drafted).
    """

    def __init__(  # noqa: PLR0913 - a choice each
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
        counts_changes: bool = False,
    ) -> None:
        self.executor = executor
        self._cancellation = Cancellation(executor)
        self._extended_card = extended_card
        self.limits = limits or Limits()
        self.admission = Admission(card, self.limits)
        own = storage or MemoryAgentStorage(self.limits)
        self._storage = own
        self._journal = Journal(task_store or own.tasks, namespace)
        self.figures = Figures(lambda: self.live.owned)
        self._push = PushNotifier(push, own, self.figures.pushes) if push else None
        attach = self._push.attach if self._push else None
        report = partial(report_end, self.figures)
        give_up = self._cancellation.give_up
        self._backlog = Backlog(self.limits.subscribers_bytes)
        recent = partial(RecentUpdates, self._backlog) if counts_changes else None
        self.live = LiveTasks(self._journal, self.limits, give_up, report, attach, recent)
        self.messages = Messages(executor, self.admission, own, self.live, self.figures, self._push)
        self.recovery = own.recovery(self) if isinstance(own, RecoverableStorage) else Recovery()
        self.messages.recovery = self.recovery
        self._duplicates = Duplicates(self.messages.accept, self.live, own, self.figures)
        self._upkeep = Upkeep()
        self._hurried = asyncio.Event()
        self._polls = (
            LongPolls(self.live, self.reader, lambda: self.messages.is_closed)
            if counts_changes
            else None
        )

    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Task | Message:
        """Answer a message; wait until its task is settled, unless asked to return at once."""
        with OperationGuard("SendMessage"):
            run = await self.messages.accept(params, context)
            if isinstance(run, Duplicate):
                result = await self._duplicates.answer(run, params, context)
            else:
                result = await run.wait(until_begun=params.configuration.return_immediately)
            if isinstance(result, Task):
                return apply_history_length(result, params.configuration)
            return result

    async def open_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Subscription:
        """Start answering a message and return the stream of its events."""
        with OperationGuard("SendStreamingMessage"):
            if params.configuration.return_immediately:  # no effect here (section 3.2.2)
                params.configuration.return_immediately = False
            subscriber = self.reader(context, params.configuration)
            run = await self.messages.accept(params, context, subscriber)
            if isinstance(run, Duplicate):
                return await self._duplicates.read(run, params, context, subscriber)
            leave = leaving(run.live, LiveTask.unsubscribe, subscriber)
            return Subscription(subscriber, self.figures, subscriber, leave)

    async def open_subscription(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> Subscription:
        """Return the stream of a task that is not terminal."""
        with OperationGuard("SubscribeToTask"):
            if not params.id:
                raise InvalidParamsError("the id of a task is missing")
            live = await self.live.find(params.id, context)
            if live.is_terminal:
                raise terminal_error(live)
            subscriber = self.reader(context)
            live.subscribers.append(subscriber)
            if not resume(live, subscriber, context):
                live.show(subscriber)
            self.live.watch(live)
            leave = leaving(live, self.live.leave, subscriber)
            return Subscription(subscriber, self.figures, on_close=leave)

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task:
        """Return a task."""
        with OperationGuard("GetTask"):
            validate_proto_required_fields(params)
            validate_history_length(params)
            if self._polls is None:
                live = await self.live.find(params.id, context)
            else:
                live = await self._polls.find(params, context)
            assert live.shown is not None  # noqa: S101 - tasks are found once announced
            return apply_history_length(live.shown, params)

    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        """Return a page of the caller's tasks, newest first."""
        with OperationGuard("ListTasks"):
            validate_proto_required_fields(params)
            validate_listing(params)
            await self.live.save_dirty(context.user.user_name)
            listed = await self._journal.list(params, context)
            if await self.live.end_orphaned(listed.tasks, context):
                listed = await self._journal.list(params, context)
            for task in listed.tasks:
                if not params.include_artifacts:
                    task.ClearField("artifacts")
                if (shown := apply_history_length(task, params)) is not task:
                    task.CopyFrom(shown)
            return listed

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        """Stop the work on a task.

        Raises:
            TaskNotFoundError: The caller has no such task.
            TaskNotCancelableError: It is terminal, or its executor cannot be stopped.
            ConversationElsewhereError: Another process works on it.
        """
        with OperationGuard("CancelTask"):
            validate_proto_required_fields(params)
            live = await self.live.find(params.id, context)
            if self.live.is_begun_elsewhere(live):
                self.live.forget(live)
                await self.recovery.sweep()
                live = await self.live.find(params.id, context)
                self.live.check_ours(live)
            if live.is_terminal:
                raise TaskNotCancelableError
            self.live.hold(live)
            try:
                await self._cancel(live, context)
            finally:
                self.live.let_go(live)
            if live.state != states.CANCELED or live.task is None:
                raise TaskNotCancelableError
            return live.task

    async def _cancel(self, live: LiveTask, context: ServerCallContext) -> None:
        try:
            await self._cancellation.cancel(live, context)
        except ConcurrentTaskModificationError as error:
            raise ConversationElsewhereError from error

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Add a push notification config to a task, or change the one with its id."""
        with OperationGuard("CreateTaskPushNotificationConfig"):
            push, live = await self._find(params, context)
            return await push.set(live, params, context)

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Return one push notification config of a task."""
        with OperationGuard("GetTaskPushNotificationConfig"):
            push, live = await self._find(params, context)
            return await push.get(live.task_id, params.id, context)

    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """Return all push notification configs of a task."""
        with OperationGuard("ListTaskPushNotificationConfigs"):
            push, live = await self._find(params, context)
            configs = await push.list(live.task_id, context)
            return ListTaskPushNotificationConfigsResponse(configs=configs)

    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Delete a push notification config; it need not exist."""
        with OperationGuard("DeleteTaskPushNotificationConfig"):
            push, live = await self._find(params, context)
            await push.delete(live, params.id, context)

    async def on_get_extended_agent_card(
        self,
        params: GetExtendedAgentCardRequest,  # noqa: ARG002 - the interface has it
        context: ServerCallContext,
    ) -> AgentCard:
        """Return the card for authenticated callers (A2A 1.0, section 3.1.11)."""
        if self._extended_card is None:
            raise UnsupportedOperationError("this agent has no extended card")
        with OperationGuard("GetExtendedAgentCard"):
            return self._extended_card(context)

    async def _find(
        self, params: _AboutReceivers, context: ServerCallContext
    ) -> tuple[PushNotifier, LiveTask]:
        if self._push is None:
            raise PushNotificationNotSupportedError
        if not speaks_v03(context):  # 0.3 requires less
            validate_proto_required_fields(params)
        if not params.task_id:
            raise InvalidParamsError("the id of a task is missing")
        return self._push, await self.live.find(params.task_id, context)

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
        """Recover orphaned tasks, and start background work."""
        self._storage.share(self.live.memory)
        with suppress(StorageUnavailableError):  # the next sweep tries again
            await self.recovery.sweep()
        sweep_seconds = self.limits.sweep_seconds
        self._upkeep.every(sweep_seconds, "a sweep", self.recovery.sweep)
        self._upkeep.every(sweep_seconds, "leaving runs behind", self.messages.abandon_lingering)
        self._upkeep.every(PRUNE_SECONDS, "pruning", self._prune)
        if self._push:
            resume = partial(self._push.resume, self.live.find)
            self._upkeep.every(sweep_seconds, "a delivery", resume)

    async def _prune(self) -> None:
        limits = self.limits
        await self._storage.prune(time.time() - limits.stored_seconds, limits.stored_tasks)

    def on_storage_trouble(self) -> None:
        """Refuse callers that wait for a save; running tasks continue."""
        self.messages.give_up_waiting(StorageUnavailableError())

    def hurry(self) -> None:
        """Let `aclose` wait for running tasks no longer."""
        self._hurried.set()

    async def aclose(self) -> None:
        """Refuse new messages, wait for running tasks, then end them."""
        self.messages.is_closed = True
        self._upkeep.close()
        grace_seconds = self.limits.shutdown_seconds
        await end_runs(self.live, grace_seconds, self._hurried, self.recovery.leave)
        if self._push:
            await self._push.aclose(0 if self._hurried.is_set() else grace_seconds)
