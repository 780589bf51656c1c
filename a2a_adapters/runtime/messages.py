"""Answers messages: stores each with its task, and tracks the runs."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from a2a.server.context import ServerCallContext
from a2a.types import Message, Role
from a2a.utils.errors import A2AError, InvalidParamsError, UnsupportedOperationError

from a2a_adapters.concurrency import shielded
from a2a_adapters.contract.text import clipped, quote
from a2a_adapters.executor.executor import AdapterExecutor
from a2a_adapters.net.addresses import SHARE
from a2a_adapters.observability.loop import loop_lag
from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import ConversationElsewhereError, ServerBusyError
from a2a_adapters.protocol.generation import drafted
from a2a_adapters.protocol.owner import Owner
from a2a_adapters.runtime.duplicates import (
    Arrival,
    Duplicate,
    check_digest,
    identify,
    is_in_history,
)
from a2a_adapters.runtime.run import MessageContext, Run, SentRequests, Stage, terminal_error
from a2a_adapters.storage.interface import UsedMessage
from a2a_adapters.storage.quota import Quota, memory_size

if TYPE_CHECKING:
    from a2a.server.agent_execution import AgentExecutor
    from a2a.types import SendMessageRequest

    from a2a_adapters.observability.figures import Figures
    from a2a_adapters.runtime.admission import Admission
    from a2a_adapters.runtime.duplicates import Identity
    from a2a_adapters.runtime.interface import Recovery
    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.push.notifier import PushNotifier
    from a2a_adapters.runtime.registry import LiveTasks
    from a2a_adapters.runtime.subscriber import Subscriber
    from a2a_adapters.storage.interface import AgentStorage

STOPPED = "The server was stopped."

_NOTED_IDS = 10_000
"""Number of message ids remembered to log their reuse."""

logger = logging.getLogger(__name__)


class Messages:
    """The messages of one agent, from their arrival to the end of their runs."""

    recovery: Recovery
    """Recovers the tasks of dead processes."""

    def __init__(
        self,
        executor: AgentExecutor,
        admission: Admission,
        storage: AgentStorage,
        live: LiveTasks,
        figures: Figures,
        push: PushNotifier | None,
    ) -> None:
        self._executor = executor
        self._admission = admission
        self._storage = storage
        self._live = live
        self._journal = journal = live.journal
        self._figures = figures
        self._push = push
        adapter = executor.adapter if isinstance(executor, AdapterExecutor) else None
        self._sent = SentRequests(storage, adapter if journal.knows_owners else None)
        may_reply = adapter is None or adapter.may_reply
        # Hidden until it is announced: the agent may still answer without a task.
        self._first_state = states.UNSPECIFIED if may_reply else states.SUBMITTED
        self._runs: set[Run] = set()
        figures.messages = self._runs
        self.is_closed = False
        """Whether shutdown has begun; new messages are refused."""
        limits = admission.limits
        self._capacity = Quota(limits.runs + limits.queued_runs)
        self._arrivals: dict[tuple[str, str], Arrival] = {}
        """The running messages whose duplicates can be recognised, by owner and request name."""
        self._noted: OrderedDict[int, None] = OrderedDict()
        self._lingering: set[Run] = set()
        """Runs that had answered but not ended at the last look."""

    async def accept(
        self,
        params: SendMessageRequest,
        context: ServerCallContext,
        subscriber: Subscriber | None = None,
    ) -> Run | Duplicate:
        """Start answering a message, or find the run or task of its first arrival.

        Args:
            params: The request; the ids of its task and context are filled in.
            context: The caller.
            subscriber: Receives the events of the run, from the first one on.

        Raises:
            ServerBusyError: No capacity is left, the event loop is late, or the server is shutting
                down.
            InvalidParamsError: It is not allowed, or its unique id was used for another one.
            UnsupportedOperationError: The task cannot take a message now.
            TaskGenerationMismatchError: The task is not in the state that the message expects.
            ConversationElsewhereError: Another process has to answer it; nothing was begun.
            StorageUnavailableError: It could not be stored in time; nothing was begun.
        """
        try:
            return await self._accept(params, context, subscriber)
        except A2AError as error:
            if not isinstance(error, ConversationElsewhereError):  # a redirect, not a refusal
                self._figures.refusals[type(error).__name__] += 1
            raise

    async def _accept(
        self, params: SendMessageRequest, context: ServerCallContext, subscriber: Subscriber | None
    ) -> Run | Duplicate:
        caller: str = context.user.user_name or context.state.get(SHARE, "")
        if self.is_closed:
            raise ServerBusyError(STOPPED)
        if loop_lag().lasting > self._admission.limits.lag_seconds:
            raise ServerBusyError
        self._admission.check(params, context.requested_extensions)
        if not self._capacity.has(caller, 1):
            raise ServerBusyError
        message, extensions = params.message, self._admission.offered
        expected = None
        if message.task_id:
            live = await self._task_of(message, context)
            if live.recent is not None and params.HasField("configuration"):
                expected = drafted(params.configuration)  # `ifGenerationMatch`
            identity = identify(params, context, extensions)
            is_running = (live.owner, identity.name) in self._arrivals
            if not is_running and not is_in_history(identity, message, live):
                # Streams and blocking callers still learn of a refusal; others would not.
                is_deaf = params.configuration.return_immediately and subscriber is None
                if is_deaf:
                    await self._until_asked(live)
                if expected is not None:
                    await self._until_begun(live)
                    live.check_generation(expected)
                self._live.check_ours(live)
                _check_accepts_messages(live, is_deaf=is_deaf)
            self._live.hold(live)
        else:
            identity = identify(params, context, extensions)
            live = self._live.begin(message, context)
        try:
            run = Run(live, message, self._storage, identity.name, caller, subscriber)
            run.expected_generation = expected
            request = MessageContext(context, params, live, self._journal, self._sent)
            if not identity.name:
                return await self._begin(run, identity, request, params)
            return await self._begin_recognizable(run, identity, request, params)
        finally:
            self._live.let_go(live)

    async def _until_begun(self, live: LiveTask) -> None:
        """Wait for earlier messages to begin, as each changes the task."""
        for run in self._runs_of(live):
            await self._waited(live, run, until_begun=True)

    async def _until_asked(self, live: LiveTask) -> None:
        """Wait for a run whose question is being stored: its caller may know of it already."""
        for run in [run for run in self._runs_of(live) if run.is_asking]:
            await self._waited(live, run, until_begun=False)

    async def _waited(self, live: LiveTask, run: Run, *, until_begun: bool) -> None:
        self._live.hold(live)
        try:
            with suppress(A2AError):  # the checks that follow explain it
                await run.wait(until_begun=until_begun)
        finally:
            self._live.let_go(live)

    async def _task_of(self, message: Message, context: ServerCallContext) -> LiveTask:
        live = await self._live.find(message.task_id, context)
        if message.context_id and message.context_id != live.context_id:
            raise InvalidParamsError(f"Task {live.task_id} belongs to another context")
        message.context_id = live.context_id
        return live

    async def _begin_recognizable(
        self, run: Run, identity: Identity, request: MessageContext, params: SendMessageRequest
    ) -> Run | Duplicate:
        """Begin a message unless its first arrival is running; share the outcome."""
        key = run.live.owner, run.name
        while (first := self._arrivals.get(key)) is not None:
            if (duplicate := await first.duplicate(identity.digest)) is not None:
                return duplicate
        self._arrivals[key] = arrival = Arrival(run, identity.digest)
        try:
            outcome = await self._begin(run, identity, request, params)
        except BaseException as error:
            del self._arrivals[key]
            arrival.resolve(error)
            raise
        if outcome is not run:
            del self._arrivals[key]
        if arrival.outcome is not None:
            arrival.resolve(outcome)
        return outcome

    async def _begin(
        self, run: Run, identity: Identity, request: MessageContext, params: SendMessageRequest
    ) -> Run | Duplicate:
        """Store a message and start its run, unless it was stored before.

        Raises:
            ServerBusyError: No capacity is left, or the server is shutting down.
            InvalidParamsError: Its push notification config is not allowed.
        """
        live = run.live
        if live.draft is None and is_in_history(identity, params.message, live):
            return Duplicate(live.task_id, None, identity.name)
        if self._storage.is_durable:
            await self._sent.keep(live, params, request.call_context)
        if live.draft is not None:
            if self._push:
                await self._push.begin(live, params, request.call_context)
            if first := await self._store(run, identity):
                return first
        self._log_reuse(live, params.message.message_id)
        try:
            if self._storage.is_durable:
                await self.recovery.recover(live)
            await self._start(run, request, params)
        except BaseException:
            if live.task is None:
                await shielded(run.retract())
            raise
        return run

    async def _store(self, run: Run, identity: Identity) -> Duplicate | None:
        """Store a draft with the message that begins it, unless that began another task."""
        live, draft = run.live, run.live.draft
        assert draft is not None  # noqa: S101 - the message begins the task
        draft.task.status.state = state = self._first_state
        stored = await self._storage.accept(
            live.owner, identity.name, identity.digest, draft.task, draft.config, joins=draft.joins
        )
        if isinstance(stored, UsedMessage):
            check_digest(stored.digest, identity.digest)
            return Duplicate(stored.task_id, None, identity.name)
        if not stored.is_missing:
            live.page.accepted(stored, state)
        return None

    def _log_reuse(self, live: LiveTask, message_id: str) -> None:
        """Log that a message id seen lately is used for another request."""
        key = hash((live.owner, message_id))
        if key in self._noted:
            shown = quote(clipped(message_id))
            logger.info(
                "task %s: its messageId '%s' was used before, by another request",
                live.task_id,
                shown,
            )
        self._noted[key] = None
        if len(self._noted) > _NOTED_IDS:
            self._noted.popitem(last=False)

    async def _start(self, run: Run, request: MessageContext, params: SendMessageRequest) -> None:
        live, memory, new_config = run.live, self._live.memory, ""
        size = memory_size(params.message)
        if live.draft is None and live.task is not None:
            size += memory_size(live.task)
        if request.is_resumed:
            memory.take(live.owner, size)
        elif not memory.try_take(live.owner, size):
            self._live.waiting.end_oldest(live.owner)
            raise ServerBusyError
        if self._push:
            try:
                new_config = await self._push.follow(live, params, request.call_context)
            except BaseException:
                memory.take(live.owner, -size)
                raise
        if self.is_closed:
            memory.take(live.owner, -size)
            raise ServerBusyError(STOPPED)
        self._capacity.take(run.caller, 1)
        run.stage = Stage.BEGUN if request.is_resumed else Stage.ACCEPTED
        execute = run.execute(self._executor, request)
        if self._push and live.receivers:
            execute = self._push.during(execute, run, new_config, request.call_context)
        execution = asyncio.create_task(execute)
        live.unanswered += 1
        live.runs.add(execution)
        self._runs.add(run)
        run.on_end = partial(self._ended, run, size, execution)
        execution.add_done_callback(run.end)  # also if it is cancelled before it begins

    async def resume(self, live: LiveTask) -> None:
        """Resume the last message of a task, whose process died.

        Duplicates of the message find the task in the storage.

        Raises:
            ServerBusyError: The server is shutting down.
            StorageUnavailableError: The rest of its request cannot be read.
        """
        task = live.shown
        assert task is not None  # noqa: S101 - it was stored
        message = next(item for item in reversed(task.history) if item.role == Role.ROLE_USER)
        params = await self._sent.rest_of(live, message)
        extensions = set(params.message.extensions)
        params.message.CopyFrom(message)
        context = ServerCallContext(user=Owner(live.owner), requested_extensions=extensions)
        request = MessageContext(context, params, live, self._journal, self._sent, is_resumed=True)
        run = Run(live, message, self._storage, "", live.owner)
        await self._start(run, request, params)

    def _ended(self, run: Run, size: int, execution: asyncio.Task[None]) -> None:
        live = run.live
        self._runs.discard(run)
        live.runs.discard(execution)
        self._arrivals.pop((live.owner, run.name), None)
        size += live.grown
        live.grown = 0
        self._capacity.take(run.caller, -1)
        self._live.memory.take(live.owner, -size)
        self._figures.end(run)
        self._live.release(live)

    def hand_over(self, live: LiveTask) -> None:
        """Mute the runs of a task that another process will resume."""
        for run in self._runs_of(live):
            run.stop(ServerBusyError(STOPPED))

    def lose(self, live: LiveTask) -> None:
        """Stop the runs of a task that another process has taken."""
        live.page.is_lost = True
        for run in self._runs_of(live):
            run.stop()
        for execution in live.runs:
            execution.cancel()

    def give_up_waiting(self, error: A2AError) -> None:
        """Refuse callers that wait for a save; the runs continue."""
        for run in tuple(self._runs):
            run.give_up_waiting(error)

    async def abandon_lingering(self) -> None:
        """Abandon runs that had answered by the previous call, and have not ended.

        A run whose answer is still being stored is kept.
        """
        answered = {run for run in self._runs if run.has_answered and not run.live.page.is_saving}
        for run in answered & self._lingering:
            logger.warning("task %s: its run did not end; abandoned", run.live.task_id)
            run.leave()
        self._lingering = answered & self._runs

    def _runs_of(self, live: LiveTask) -> list[Run]:
        return [run for run in self._runs if run.live is live]


def _check_accepts_messages(live: LiveTask, *, is_deaf: bool) -> None:
    """Refuse a message to a task that cannot take one.

    Raises:
        UnsupportedOperationError: The task is terminal, or works on an earlier message and the
            caller does not wait (`is_deaf`): it would not learn that the task ended before.
    """
    if live.is_terminal:
        raise terminal_error(live)
    if is_deaf and live.unanswered:
        text = "wait for its answer, or send this one without returnImmediately"
        raise UnsupportedOperationError(f"Task {live.task_id} works on an earlier message: {text}")
