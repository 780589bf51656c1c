"""Answers messages: stores each with its task, recognises repeats, and looks after the runs."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING

from a2a.server.context import ServerCallContext
from a2a.types import Message, Role
from a2a.utils.errors import A2AError, InvalidParamsError, UnsupportedOperationError

from a2a_adapters.concurrency import shielded
from a2a_adapters.contract.text import clipped, quote
from a2a_adapters.executor.executor import AdapterExecutor
from a2a_adapters.net.addresses import SHARE
from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import ConversationElsewhereError, ServerBusyError
from a2a_adapters.runtime.admission import UNRECOGNIZABLE, check_digest, is_in_history
from a2a_adapters.runtime.context import MessageContext, SentRequests
from a2a_adapters.runtime.room import Room, weight
from a2a_adapters.runtime.run import Repeated, Run, Stage, over_error
from a2a_adapters.storage.interface import UsedMessage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from a2a.server.agent_execution import AgentExecutor
    from a2a.types import SendMessageRequest, Task

    from a2a_adapters.observability.figures import Figures
    from a2a_adapters.runtime.admission import Admission, Identity
    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.push.notifier import PushNotifier
    from a2a_adapters.runtime.registry import LiveTasks
    from a2a_adapters.runtime.subscriber import Subscriber
    from a2a_adapters.storage.interface import AgentStorage

STOPPED = "The server was stopped."

_NOTED_IDS = 10_000
"""How many ids are remembered to log their reuse."""

logger = logging.getLogger(__name__)


class Messages:
    """The messages of one agent, from their arrival to the end of their runs.

    Args:
        executor: Answers them.
        admission: Tells which are allowed, and how many at a time; of one caller half of them.
        storage: Stores each with the task that it begins.
        live: Their tasks.
        figures: Counts them.
        push: Tells the receivers of their tasks.
        recover: Recovers what dead processes have left of a task's conversation.
    """

    def __init__(
        self,
        executor: AgentExecutor,
        admission: Admission,
        storage: AgentStorage,
        live: LiveTasks,
        figures: Figures,
        push: PushNotifier | None,
        recover: Callable[[LiveTask], Awaitable[None]],
    ) -> None:
        self._executor = executor
        self._admission = admission
        self._storage = storage
        self._live = live
        self._journal = journal = live.journal
        self._figures = figures
        self._push = push
        self._recover = recover
        adapter = executor.adapter if isinstance(executor, AdapterExecutor) else None
        self._sent = SentRequests(storage, adapter if journal.knows_owners else None)
        may_reply = adapter is None or adapter.may_reply
        # A task that may turn out to be a mere reply is unknown to callers until it is announced.
        self._first_state = states.UNSPECIFIED if may_reply else states.SUBMITTED
        self._runs: set[Run] = set()
        figures.messages = self._runs
        self.is_closed = False
        """Whether no more are taken: the server is being stopped."""
        limits = admission.limits
        self._room = Room(limits.runs + limits.queued_runs)
        self._named: dict[tuple[str, str], Run] = {}
        """Those that have a name, from their arrival to the end of their runs."""
        self._noted: OrderedDict[int, None] = OrderedDict()
        self._lingering: set[Run] = set()
        """Runs that had answered, and gone on, when they were looked at last."""

    async def accept(
        self,
        params: SendMessageRequest,
        context: ServerCallContext,
        subscriber: Subscriber | None = None,
    ) -> Run | Repeated:
        """Begin to answer a message, or find what it began when it came first.

        Args:
            params: What was sent. It is told the ids of the task and its context.
            context: Who sent it.
            subscriber: Reads the events of its run from the first one on.

        Raises:
            ServerBusyError: There is no room for it, or the server is being stopped.
            InvalidParamsError: It is not allowed, or its id was used for another message although
                the caller said that ids are unique.
            UnsupportedOperationError: Its task cannot take a message now.
            ConversationElsewhereError: Another process has to answer it; nothing was begun.
            StorageUnavailableError: It could not be stored in time; nothing was begun.
        """
        try:
            return await self._accept(params, context, subscriber)
        except A2AError as error:
            if not isinstance(error, ConversationElsewhereError):  # which is no refusal
                self._figures.refusals[type(error).__name__] += 1
            raise

    async def _accept(
        self,
        params: SendMessageRequest,
        context: ServerCallContext,
        subscriber: Subscriber | None,
    ) -> Run | Repeated:
        caller: str = context.user.user_name or context.state.get(SHARE, "")
        if self.is_closed:
            raise ServerBusyError(STOPPED)
        self._admission.check(params, context.requested_extensions)
        message = params.message
        identity = UNRECOGNIZABLE if message.task_id else self._admission.identify(params, context)
        if not self._room.has(caller, 1):
            raise ServerBusyError
        if message.task_id:
            live = await self._follow_up(message, context)
            identity = self._admission.identify(params, context)
            if not self._is_repeat(identity, message, live):
                self._live.check_ours(live)
                # A stream can still be told of a refusal, and so can who waits.
                is_deaf = params.configuration.return_immediately and subscriber is None
                _check_free(live, is_deaf=is_deaf)
            self._live.hold(live)
        else:
            live = self._live.begin(message, context)
        try:
            run = Run(live, message, self._storage, identity, caller, subscriber)
            request = MessageContext(context, params, live, self._journal, self._sent)
            return await self._begin_once(run, request, params)
        finally:
            self._live.let_go(live)

    async def _follow_up(self, message: Message, context: ServerCallContext) -> LiveTask:
        """Return the task that a message names."""
        live = await self._live.find(message.task_id, context)
        if message.context_id and message.context_id != live.context_id:
            raise InvalidParamsError(f"Task {live.task_id} belongs to another context")
        message.context_id = live.context_id
        return live

    def _is_repeat(self, identity: Identity, message: Message, live: LiveTask) -> bool:
        is_here = (live.owner, identity.name) in self._named  # which holds no empty names
        return is_here or is_in_history(identity, message, live)

    async def _begin_once(
        self, run: Run, request: MessageContext, params: SendMessageRequest
    ) -> Run | Repeated:
        """Begin a message, or wait for what the same request has begun that came before."""
        name = run.identity.name
        if not name:
            return await self._begin(run, request, params)
        key = run.live.owner, name
        while (first := self._named.get(key)) is not None:
            check_digest(first.identity.digest, run.identity.digest)
            if first.stage is Stage.ARRIVED:
                if first.begun is None:
                    first.begun = asyncio.get_running_loop().create_future()
                await asyncio.wait([arriving := first.begun])
                if arriving.cancelled():  # its caller has gone: the next one begins
                    continue
                begun = arriving.result()
                if isinstance(begun, Repeated):
                    return begun
            return Repeated(first.live.task_id, first, name)
        self._named[key] = run
        try:
            begun = await self._begin(run, request, params)
        except BaseException as error:
            del self._named[key]
            _tell_repeats(run, error)
            raise
        if begun is not run:
            del self._named[key]
        _tell_repeats(run, begun)
        return begun

    async def _begin(
        self, run: Run, request: MessageContext, params: SendMessageRequest
    ) -> Run | Repeated:
        """Store a message and begin to answer it, unless it was stored before."""
        live, identity, context = run.live, run.identity, request.call_context
        if live.draft is None and is_in_history(identity, params.message, live):
            return Repeated(live.task_id, None, identity.name)
        if self._storage.is_durable:
            await self._sent.keep(live, params, context)
        if live.draft is not None:
            if self._push:
                await self._push.begin(live, params, context)
            if first := await self._store(live, live.draft, identity):
                return first
        self._note_id(live, params.message.message_id)
        try:
            if self._storage.is_durable:
                await self._recover(live)
            await self._start(run, request, params)
        except BaseException:
            if live.task is None:
                await shielded(run.retract())
            raise
        return run

    async def _store(self, live: LiveTask, task: Task, identity: Identity) -> Repeated | None:
        """Store a new task together with the message that begins it, unless it has begun one."""
        task.status.state = state = self._first_state
        told = await self._storage.accept(
            live.owner, identity.name, identity.digest, task, live.config, joins=live.joins
        )
        if isinstance(told, UsedMessage):
            check_digest(told.digest, identity.digest)
            return Repeated(told.task_id, None, identity.name)
        if not told.is_missing:
            live.page.accepted(told, state)
        return None

    def _note_id(self, live: LiveTask, message_id: str) -> None:
        """Log that an id which this process has seen lately is used for another request."""
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
        """Start the run of a message that is stored.

        Raises:
            ServerBusyError: There is no room for it, or the server is being stopped.
            InvalidParamsError: Its push notification config is not allowed.
        """
        live, room, receiver = run.live, self._live.room, ""
        size = _size(live, params.message)
        if not room.take_if_there(live.owner, size):
            self._live.end_oldest_waiting(live.owner)
            raise ServerBusyError
        if self._push:
            try:
                receiver = await self._push.follow(live, params, request.call_context)
            except BaseException:
                room.take(live.owner, -size)
                raise
        if self.is_closed:
            room.take(live.owner, -size)
            raise ServerBusyError(STOPPED)
        self._execute(run, request, size, receiver)

    async def resume(self, live: LiveTask) -> None:
        """Go on with the last message of a task, which a dead process was answering.

        Repeats of the message find the task in the storage.

        Raises:
            ServerBusyError: The server is being stopped.
            StorageUnavailableError: It cannot be read what came with the message.
        """
        task = live.shown
        assert task is not None  # noqa: S101 - it was stored
        message = next(item for item in reversed(task.history) if item.role == Role.ROLE_USER)
        params = await self._sent.beside(live, message)
        if self.is_closed:
            raise ServerBusyError(STOPPED)
        extensions = set(params.message.extensions)
        params.message.CopyFrom(message)
        context = ServerCallContext(user=live.user, requested_extensions=extensions)
        request = MessageContext(context, params, live, self._journal, self._sent, is_resumed=True)
        run = Run(live, message, self._storage, UNRECOGNIZABLE, live.owner)
        size = _size(live, message)
        self._live.room.take(live.owner, size)
        self._execute(run, request, size)

    def _execute(self, run: Run, request: MessageContext, size: int, receiver: str = "") -> None:
        live = run.live
        self._room.take(run.caller, 1)
        run.stage = Stage.BEGUN if request.is_resumed else Stage.ACCEPTED
        execute = run.execute(self._executor, request)
        if self._push and live.receivers:
            execute = self._push.during(execute, run, receiver, request.call_context)
        execution = asyncio.create_task(execute)
        live.unanswered += 1
        live.runs.add(execution)
        self._runs.add(run)
        run.on_end = partial(self._ended, run, size, execution)
        execution.add_done_callback(run.end)  # also if it is cancelled before it begins

    def _ended(self, run: Run, size: int, execution: asyncio.Task[None]) -> None:
        live = run.live
        self._runs.discard(run)
        live.runs.discard(execution)
        self._named.pop((live.owner, run.identity.name), None)
        size += live.grown
        live.grown = 0
        self._room.take(run.caller, -1)
        self._live.room.take(live.owner, -size)
        self._figures.end(run)
        self._live.release(live)

    def hand_over(self, live: LiveTask) -> None:
        """Let a task's runs say nothing more: another process is to go on with it."""
        for run in self._runs_of(live):
            run.stop(ServerBusyError(STOPPED))

    def lose(self, live: LiveTask) -> None:
        """Stop a task's runs: another process has it."""
        live.page.is_lost = True
        for run in self._runs_of(live):
            run.stop()
        for execution in live.runs:
            execution.cancel()

    def give_up_waiting(self, error: A2AError) -> None:
        """Refuse those who wait for something to be stored; what runs goes on."""
        for run in tuple(self._runs):
            run.give_up_waiting(error)

    async def leave_behind(self) -> None:
        """Leave those behind that had answered already when this was called before.

        One whose answer is still being stored waits for that.
        """
        answered = {run for run in self._runs if run.has_answered and not run.live.page.is_saving}
        for run in answered & self._lingering:
            logger.warning("task %s: its run does not end, left behind", run.live.task_id)
            run.leave()
        self._lingering = answered & self._runs

    def _runs_of(self, live: LiveTask) -> list[Run]:
        return [run for run in self._runs if run.live is live]


def _tell_repeats(run: Run, begun: Run | Repeated | BaseException) -> None:
    """Tell those who sent the same request meanwhile what came of the first one."""
    waiting, run.begun = run.begun, None  # an error knows its frame, and by it the run: a cycle
    if waiting is None:
        return
    if isinstance(begun, asyncio.CancelledError):
        waiting.cancel()
    elif isinstance(begun, BaseException):
        waiting.set_exception(begun)
        waiting.exception()  # perhaps nobody waits for it any more
    else:
        waiting.set_result(begun)


def _size(live: LiveTask, message: Message) -> int:
    """Return how much a message takes while it is answered."""
    size = weight(message)
    if live.draft is None and live.task is not None:
        size += weight(live.task)
    return size


def _check_free(live: LiveTask, *, is_deaf: bool) -> None:
    """Refuse a new message to a task that cannot take one.

    Whoever does not wait for the answer (`is_deaf`) would not know if the task ended before.

    Raises:
        UnsupportedOperationError: The task has ended, or works on an earlier message.
    """
    if live.is_over:
        raise over_error(live)
    if is_deaf and live.unanswered:
        text = "wait for its answer, or send this one without returnImmediately"
        raise UnsupportedOperationError(f"Task {live.task_id} works on an earlier message: {text}")
