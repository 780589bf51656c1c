"""One message on its way through the executor."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from a2a.server.cluster.task_store import ConcurrentTaskModificationError
from a2a.server.events import EventQueue
from a2a.types import Message, Task, TaskArtifactUpdateEvent, TaskState
from a2a.utils.errors import A2AError, UnsupportedOperationError

from a2a_adapters.concurrency.background import runs_now
from a2a_adapters.executor.writer import TextQueue
from a2a_adapters.net.addresses import SHARE
from a2a_adapters.observability.failures import log_failure
from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import ConversationElsewhereError, StorageUnavailableError
from a2a_adapters.runtime.guard import hidden
from a2a_adapters.storage.interface import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from a2a.server.agent_execution import AgentExecutor, RequestContext
    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event
    from a2a.types import TaskStatus

    from a2a_adapters.runtime.identity import Accepted
    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.subscriber import Subscriber

logger = logging.getLogger(__name__)


class Run(TextQueue):
    """Executes one message on a live task and tells when it has begun and settled.

    It is the event queue that the executor writes to.

    Args:
        accepted: The message as the storage knows it, and the task.
        message: The caller's message.
        subscriber: Who reads the events of this run from its first one on.
        caller: Whose share of the runs it takes; by default the task's owner.
        is_resumed: Whether a process that is gone has begun to answer the message.
    """

    def __init__(
        self,
        accepted: Accepted,
        message: Message,
        subscriber: Subscriber | None = None,
        *,
        caller: str | None = None,
        is_resumed: bool = False,
    ) -> None:
        self.accepted = accepted
        self.live = accepted.live
        self.caller = accepted.live.owner if caller is None else caller
        self.error: A2AError | None = None
        self._unavailable: A2AError | None = None
        self.is_waiting = True
        """Whether this message still waits for its turn."""
        self.began_at = 0.0
        """When its turn came; 0 if it never did."""
        self._message = message
        self._is_follow_up = self.live.draft is None
        self._subscriber = subscriber
        self._has_events = is_resumed
        self._asks = False
        self._kept: list[State] = []
        """What is saved with the next event."""
        self.on_end: Callable[[], None]
        """Told once that the run has ended."""
        self.has_ended = False
        """Whether it has, or was left behind."""
        self._has_turn = False
        self.lingers = False
        """Whether it was seen to go on although it has answered."""
        self.is_left = False
        """Whether it was left behind: nothing that it says counts."""
        self._has_begun = is_resumed
        self._has_settled = False
        self._waiting: dict[asyncio.Future[None], bool] = {}
        """Who waits, and whether only until it has begun."""
        self.live.unanswered += 1

    async def wait(self, *, until_begun: bool) -> Task | Message:
        """Wait for the first event or until the task ends or waits; return the result.

        Raises:
            A2AError: The message was refused.
        """
        live = self.live
        while not (self._has_settled or (until_begun and self._has_begun)):
            waiter = asyncio.get_running_loop().create_future()
            self._waiting[waiter] = until_begun
            await waiter
            if live.page.is_saving and live.state in states.SETTLED:
                until_begun = False  # the question or the end is told once it is stored
        if (error := self.error or self._unavailable) is not None:
            raise error
        if self.live.page.is_lost:  # another process has the task now, and what becomes of it
            raise StorageUnavailableError
        result = self.live.reply or self.live.shown
        assert result is not None  # noqa: S101 - a run without error leaves one of the two
        return result

    async def execute(self, executor: AgentExecutor, context: RequestContext) -> None:
        """Run the executor when it is this message's turn."""
        try:
            await self.live.turn.acquire()
            self._has_turn = True
            try:
                await self._execute(executor, context)
            finally:
                self._pass_on()
        except ConcurrentTaskModificationError:
            what = "task %s, or its conversation, is another process's now"
            logger.warning(what, self.live.task_id)
            self.error = self.loss()
        except Exception as error:
            self.error = hidden(error, "a run")
        if self.error is not None and self.live.draft is not None:
            await self._retract()
        self.end()  # who waits goes on after this

    def loss(self) -> A2AError:
        """Return what is told now that another process has the task.

        A message of which nothing is stored may be told to that one instead.
        """
        is_unheard = self._is_follow_up and not self._has_begun
        return ConversationElsewhereError() if is_unheard else StorageUnavailableError()

    def end(self, _execution: asyncio.Task[None] | None = None) -> None:
        """Release everyone who waits for this run, which has ended, or goes on unheard."""
        if not self.has_ended:
            self.has_ended = True
            self._finish()
            self.on_end()
            del self.on_end  # it holds the run: without it what has ended is freed at once

    def _pass_on(self) -> None:
        if self._has_turn:
            self._has_turn = False
            self.live.turn.release()

    async def _retract(self) -> None:
        try:
            await self.accepted.retract()
        except Exception as error:  # it will not be known as one that may be sent again
            hidden(error, "a refusal")

    def give_up_waiting(self, error: A2AError) -> None:
        """Refuse those who wait for what cannot be stored now; the run itself goes on."""
        if self.live.page.is_saving and not self._has_settled:
            self._unavailable = error
            self._settle()

    @property
    def has_answered(self) -> bool:
        """Whether its task has ended or asks: there is nothing to wait for."""
        return self.live.is_over or self._asks

    @property
    def is_refused(self) -> bool:
        """Whether its message was refused: nothing came of it."""
        return self.error is not None and not self._has_events and not self.is_left

    def leave(self) -> None:
        """Let others have the turn, although this run goes on."""
        self.is_left = True
        self._pass_on()
        self.end()

    def _finish(self) -> None:
        self._unavailable = None
        self._settle()
        if self._subscriber:
            if not self._subscriber.has_begun and self.error is None:
                self.live.show(self._subscriber)  # cancelled while it waited for its turn
            self.live.unsubscribe(self._subscriber)
            self._subscriber.error = self.error
            self._subscriber.close()

    async def _execute(self, executor: AgentExecutor, context: RequestContext) -> None:
        if self.live.is_over:
            self.error = over_error(self.live)
            return
        if self._subscriber:
            self.live.subscribe(self._subscriber)
        if self.live.draft is None:
            context.current_task = self.live.task
        itself = asyncio.current_task()
        self.begins()
        try:
            await executor.execute(context, self)
            await self._complete()
        except A2AError as error:
            if self._has_events:
                await self._fail(error)
            else:
                self.error = error
        except asyncio.CancelledError as error:
            if not self.live.is_over:
                await self._fail(error)
            raise
        except BaseException as error:  # whatever it is, it must neither get out nor end the server
            is_lost = isinstance(error, ConcurrentTaskModificationError) and self.live.page.is_lost
            if is_lost or not runs_now(itself):  # or this coroutine is closed: the loop is gone
                raise
            await self._fail(error)

    def begins(self) -> None:
        """Note that this message's turn has come."""
        self.is_waiting = False
        self.began_at = time.monotonic()

    def waits(self) -> None:
        """Note that the message waits for its turn."""
        self.is_waiting = True

    async def enqueue_event(self, event: Event) -> None:
        """Apply an event to the task; release who waits for it.

        Raises:
            InvalidAgentResponseError: The event does not fit the task.
        """
        live = self.live
        if self.is_left:
            logger.warning("task %s: dropped what a run left behind says", live.task_id)
            return
        kept, self._kept = self._kept, []
        if isinstance(event, Message):
            await self.accepted.keep_reply(event, kept)
        if not self._has_events:
            await self._prepare(event)
        await live.apply(event, kept)
        if not self._has_begun:
            self._begin()
        if isinstance(event, TaskArtifactUpdateEvent):
            return
        self._asks = live.state in states.INTERRUPTED
        if self._asks or live.is_over:
            self._settle()

    async def announce(self, status: TaskStatus) -> None:
        """Create the task, which begins with the message that is being answered."""
        live = self.live
        self._has_events = True
        if live.draft is not None:
            live.draft.status.CopyFrom(status)
            await live.apply(live.draft)
            self._begin()

    async def keep(self, kind: str, body: bytes) -> None:
        """Store something of the conversation with the next event, if that can be."""
        live = self.live
        if self.is_left:
            return
        if live.page.keeps_states:
            self._kept.append(State(live.owner, live.context_id, kind, body))
        else:
            await self.accepted.storage.write_state(live.owner, live.context_id, kind, body)

    async def take_back(self, artifacts: int) -> None:
        """Drop all of the task's artifacts but the first ones."""
        if not self.is_left:
            await self.live.take_back(artifacts)

    async def count_attempt(self) -> None:
        """Note that another attempt at the message begins."""
        await self.accepted.storage.count_attempt(self.live.owner, self.live.task_id)

    async def append_text(self, artifact_id: str, text: str, *, last: bool) -> None:
        """Append `text` to the text artifact, which the first chunk creates."""
        if not self.is_left:
            await self.live.append_text(artifact_id, text, last=last)

    async def _prepare(self, event: Event | None) -> None:
        """Make the task ready for the first event of this run, or for the lack of one."""
        if self._has_events or self.live.is_over:
            return
        self._has_events = True
        if self.live.draft is None:
            self.live.add_message(self._message)
        elif not isinstance(event, Task | Message):
            await self.live.apply(self.live.draft)

    def _begin(self) -> None:
        """Release those who wait only until there is something to be seen."""
        self._has_begun = True
        self._wake([waiter for waiter, until_begun in self._waiting.items() if until_begun])

    def _settle(self) -> None:
        """Release everyone who waits."""
        if not self._has_settled:
            self._has_begun = self._has_settled = True
            self.live.unanswered -= 1
            self._wake(tuple(self._waiting))

    def _wake(self, waiters: Iterable[asyncio.Future[None]]) -> None:
        for waiter in waiters:
            del self._waiting[waiter]
            if not waiter.done():
                waiter.set_result(None)

    async def _complete(self) -> None:
        """End what the executor left open."""
        live = self.live
        if self.is_left:
            return
        if not self._has_events:
            await self._prepare(None)
        if not live.is_over and not self._asks:
            await live.set_state(states.COMPLETED)

    async def _fail(self, error: BaseException) -> None:
        if self.is_left:
            return
        error_id = log_failure(f"task {self.live.task_id} failed", error)
        await self._prepare(None)
        if not self.live.is_over:
            text = f"The agent failed. Error id: {error_id}"
            about = {"error": {"category": "internal", "id": error_id}}
            await self.live.set_state(states.FAILED, text, about)


class CancelQueue(TextQueue):
    """The event queue an executor writes a cancellation to."""

    def __init__(self, live: LiveTask) -> None:
        self._live = live

    async def enqueue_event(self, event: Event) -> None:
        """Apply an event to the task.

        Raises:
            InvalidAgentResponseError: The event does not fit the task.
        """
        await self._live.apply(event)

    async def announce(self, status: TaskStatus) -> None:
        """Do nothing: what is cancelled was announced."""

    async def keep(self, kind: str, body: bytes) -> None:
        """Do nothing: of a conversation nothing new is known by a cancellation."""

    async def take_back(self, artifacts: int) -> None:
        """Drop all of the task's artifacts but the first ones."""
        await self._live.take_back(artifacts)

    async def count_attempt(self) -> None:
        """Do nothing: a cancellation is none."""

    async def append_text(self, artifact_id: str, text: str, *, last: bool) -> None:
        """Append `text` to the text artifact, which the first chunk creates."""
        await self._live.append_text(artifact_id, text, last=last)

    def waits(self) -> None:
        """Do nothing: a cancellation waits for nobody."""

    def begins(self) -> None:
        """Do nothing."""


class DeafQueue(EventQueue):
    """Takes the events of a cancellation that ends otherwise than its executor says."""

    async def enqueue_event(self, event: Event) -> None:
        """Drop an event."""


def caller_of(context: ServerCallContext) -> str:
    """Return whose share of the runs a call takes; "" is nobody's in particular."""
    share: str = context.state.get(SHARE, "")
    return context.user.user_name or share


def over_error(live: LiveTask) -> UnsupportedOperationError:
    """Return the refusal of a message to a task that has ended."""
    state = TaskState.Name(live.state)
    return UnsupportedOperationError(f"Task {live.task_id} is over ({state}); start a new task")


def check_free(live: LiveTask, *, is_deaf: bool) -> None:
    """Raise an `UnsupportedOperationError` if a task cannot take a new message.

    Whoever does not wait for the answer (`is_deaf`) would not know if the task ended before.
    """
    if live.is_over:
        raise over_error(live)
    if is_deaf and live.unanswered:
        text = "wait for its answer, or send this one without returnImmediately"
        raise UnsupportedOperationError(f"Task {live.task_id} works on an earlier message: {text}")
