"""A message in the runtime: its turn in its task, its stages, and who waits for its answer.

The executor gets it as a2a-sdk's request context and event queue.
"""

from __future__ import annotations

import asyncio
import logging
import time
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from a2a.server.agent_execution import RequestContext
from a2a.server.cluster.task_store import ConcurrentTaskModificationError
from a2a.server.context import ServerCallContext
from a2a.server.id_generator import UUIDGenerator
from a2a.types import (
    ListTasksRequest,
    Message,
    SendMessageConfiguration,
    SendMessageRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import A2AError, UnsupportedOperationError

from a2a_adapters.concurrency.background import runs_now
from a2a_adapters.executor.writer import TextQueue
from a2a_adapters.observability.failures import hidden, log_failure
from a2a_adapters.protocol import states
from a2a_adapters.protocol.conversion import metadata_of
from a2a_adapters.protocol.errors import ConversationElsewhereError, StorageUnavailableError
from a2a_adapters.protocol.owner import Owner
from a2a_adapters.storage.interface import State

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.events import Event

    from a2a_adapters.contract.adapter import Adapter
    from a2a_adapters.contract.parts import JSON
    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.subscriber import Subscriber
    from a2a_adapters.storage.interface import AgentStorage
    from a2a_adapters.storage.journal import Journal

_UNUSED = UUIDGenerator()

_KIND = "request"
_STORING_SECONDS = 4.0
"""Time limit for the storage."""


class SentRequests:
    """Stores the metadata, extensions and output modes of requests, for runs that are resumed."""

    def __init__(self, storage: AgentStorage, adapter: Adapter | None) -> None:
        self._storage = storage
        self._adapter = adapter

    async def keep(
        self, live: LiveTask, params: SendMessageRequest, context: ServerCallContext
    ) -> None:
        """Store the parts of a request that the task does not hold.

        Raises:
            StorageUnavailableError: They could not be stored in time.
        """
        if self._adapter is None or not self._adapter.resumes:
            return
        rest = SendMessageRequest()
        if extensions := sorted(context.requested_extensions):
            rest.message.CopyFrom(Message(extensions=extensions))
        if params.HasField("metadata"):
            rest.metadata.CopyFrom(params.metadata)
        if modes := params.configuration.accepted_output_modes:
            rest.configuration.CopyFrom(SendMessageConfiguration(accepted_output_modes=modes))
        if not (body := rest.SerializeToString()):
            return
        place = (live.owner, live.context_id, _kind(live.task_id, params.message))
        try:
            async with asyncio.timeout(_STORING_SECONDS):
                await self._storage.write_state(*place, body)
        except TimeoutError as error:
            raise StorageUnavailableError from error

    async def rest_of(self, live: LiveTask, message: Message) -> SendMessageRequest:
        """Return the parts of a request that its task does not hold."""
        kind = _kind(live.task_id, message)
        body = await self._storage.read_state(live.owner, live.context_id, kind)
        return SendMessageRequest.FromString(body or b"")


def _kind(task_id: str, message: Message) -> str:
    return f"{_KIND}:{task_id}:{message.message_id}"


class MessageContext(RequestContext):
    """a2a-sdk's context of a message, with whole numbers in its metadata unchanged.

    Args:
        sent: Holds the requests of the task's other messages.
        is_resumed: Whether a dead process had begun to answer the message.
    """

    def __init__(
        self,
        context: ServerCallContext,
        params: SendMessageRequest,
        live: LiveTask,
        journal: Journal,
        sent: SentRequests,
        *,
        is_resumed: bool = False,
    ) -> None:
        super().__init__(
            context,
            params,
            live.task_id,
            live.context_id,
            task_id_generator=_UNUSED,
            context_id_generator=_UNUSED,
        )
        self._sent = params
        self._live = live
        self._requests = sent
        self.is_resumed = is_resumed
        self.others_wait = partial(_others_wait, live, journal)
        """Returns whether another task of this context is interrupted."""

    @property
    def metadata(self) -> dict[str, Any]:
        """The request's metadata."""
        return metadata_of(self._sent) if self._sent.HasField("metadata") else {}

    async def rest_of_request(self, message: Message) -> SendMessageRequest:
        """Return the rest of the request of an earlier message."""
        return await self._requests.rest_of(self._live, message)


async def _others_wait(live: LiveTask, journal: Journal) -> bool:
    context = ServerCallContext(user=Owner(live.owner))
    for state in states.INTERRUPTED:
        params = ListTasksRequest(context_id=live.context_id, status=state, page_size=2)
        found = await journal.list(params, context)
        if any(task.id != live.task_id for task in found.tasks):
            return True
    return False


logger = logging.getLogger(__name__)


class Stage(IntEnum):
    """The progress of a message."""

    ARRIVED = 0
    """It is being checked and stored."""
    ACCEPTED = 1
    """It waits for its turn, or the executor has sent no event yet."""
    OPENING = 2
    """Its first event is being applied and stored."""
    BEGUN = 3
    """Its task is visible."""
    INTERRUPTED = 4
    """Its task is interrupted."""


class Run(TextQueue):
    """One message: accepted, executed on a live task, and answered.

    It is the event queue that the executor writes to.

    Args:
        storage: Stores the outcome for duplicates.
        name: The key of that outcome; empty if duplicates cannot be recognised.
        caller: The owner of the capacity that the run takes.
        subscriber: Receives the events of this run, from the first one on.
    """

    def __init__(
        self,
        live: LiveTask,
        message: Message,
        storage: AgentStorage,
        name: str,
        caller: str,
        subscriber: Subscriber | None = None,
    ) -> None:
        self.live = live
        self.name = name
        self.caller = caller
        self.stage = Stage.ARRIVED
        self.error: A2AError | None = None
        self.expected_generation: int | None = None
        """The generation that its task must have when its turn comes; None if any will do."""
        self.began_at = 0.0
        """Start of its turn, by `time.monotonic`; 0 before."""
        self.is_abandoned = False
        """Whether it was abandoned: its events are dropped."""
        self.is_asking = False
        """Whether its question is being stored; other processes may show it already."""
        self.on_end: Callable[[], None] | None = None
        """Called once, when it has ended or is abandoned."""
        self.append_text = live.append_text
        self._message = message
        self._storage = storage
        self._is_follow_up = live.draft is None
        self._subscriber = subscriber
        self._unavailable: A2AError | None = None
        self._kept: list[State] = []
        """State of the conversation that is saved with the next event."""
        self._turn: asyncio.Lock | None = None
        """The task's turn, while this run holds it."""
        self._waiters: dict[asyncio.Future[None], bool] | None = {}
        """The waiters, and whether each waits only for the beginning; None once settled."""

    async def wait(self, *, until_begun: bool) -> Task | Message:
        """Wait until the task is visible (`until_begun`) or settled; return the result.

        Raises:
            A2AError: The message was refused.
        """
        live = self.live
        while self._waiters is not None and not (until_begun and self.stage >= Stage.BEGUN):
            waiter = asyncio.get_running_loop().create_future()
            self._waiters[waiter] = until_begun
            await waiter
            if until_begun and live.state in states.SETTLED and live.page.is_saving:
                until_begun = False  # a settled state is published once it is stored
        if (error := self.error or self._unavailable) is not None:
            raise error
        if live.page.is_lost:  # another process has the task
            raise StorageUnavailableError
        result = live.reply or live.shown
        assert result is not None  # noqa: S101 - a run without error leaves one of the two
        return result

    async def execute(self, executor: AgentExecutor, context: RequestContext) -> None:
        """Run the executor when it is this message's turn."""
        live = self.live
        try:
            await live.turn.acquire()
            self._turn = live.turn
            try:
                if live.is_terminal:
                    self.error = terminal_error(live)
                else:
                    if self.expected_generation is not None:
                        live.check_generation(self.expected_generation)
                    await self._execute(executor, context)
            finally:
                self._pass_on()
        except ConcurrentTaskModificationError:
            what = "task %s, or its conversation, is another process's now"
            logger.warning(what, live.task_id)
            self.error = self._loss()
        except Exception as error:
            self.error = hidden(error, "a run")
        if self.error is not None and live.draft is not None:
            try:
                await self.retract()
            except Exception as error:  # a retry will be taken for a duplicate
                hidden(error, "a refusal")
        self.end()  # wakes the waiters

    async def _execute(self, executor: AgentExecutor, context: RequestContext) -> None:
        live = self.live
        if self._subscriber:
            live.subscribers.append(self._subscriber)
        if live.draft is None:
            context.current_task = live.task
        itself = asyncio.current_task()
        self.began_at = time.monotonic()
        try:
            await executor.execute(context, self)
            if not self.is_abandoned:
                await self._complete()
        except A2AError as error:
            if self.stage < Stage.OPENING:
                self.error = error
            else:
                await self._fail(error)
        except asyncio.CancelledError as error:
            if not live.is_terminal:
                await self._fail(error)
            raise
        except BaseException as error:  # nothing may escape or end the server
            is_lost = isinstance(error, ConcurrentTaskModificationError) and live.page.is_lost
            if is_lost or not runs_now(itself):  # or the loop has closed this coroutine
                raise
            await self._fail(error)

    async def _complete(self) -> None:
        """Complete a task that the executor left open."""
        if self.stage < Stage.OPENING:
            await self._open(None)
        if not self.has_answered:
            await self.live.set_state(states.COMPLETED)

    async def _fail(self, error: BaseException) -> None:
        if self.is_abandoned:
            return
        live = self.live
        error_id = log_failure(f"task {live.task_id} failed", error)
        await self._open(None)
        if not live.is_terminal:
            text = f"The agent failed. Error id: {error_id}"
            about = {"error": {"category": "internal", "id": error_id}}
            await live.set_state(states.FAILED, text, about)

    async def enqueue_event(self, event: Event) -> None:
        """Apply an event to the task; wake its waiters.

        Raises:
            InvalidAgentResponseError: The event does not fit the task.
        """
        live = self.live
        if self.is_abandoned:
            logger.warning("task %s: dropped an event of an abandoned run", live.task_id)
            return
        if self.is_waiting:
            self.began_at = time.monotonic()
        kept, self._kept = self._kept, []
        if isinstance(event, Message):
            await self._keep_reply(event, kept)
        if self.stage < Stage.OPENING:
            await self._open(event)
        if isinstance(event, Task | TaskStatusUpdateEvent):
            self.is_asking = event.status.state in states.INTERRUPTED
        await live.apply(event, kept)
        self.is_asking = False
        if self.stage < Stage.BEGUN:
            self._begin()
        if isinstance(event, TaskArtifactUpdateEvent):
            return
        asks = live.state in states.INTERRUPTED
        self.stage = Stage.INTERRUPTED if asks else Stage.BEGUN
        if asks or live.is_terminal:
            self._settle()

    async def announce(self, state: TaskState, metadata: Mapping[str, JSON]) -> None:
        """Create the task, which begins with this message."""
        if self.live.draft is None:
            return
        self.stage = Stage.OPENING
        await self.live.announce(state, metadata)
        self.stage = Stage.BEGUN
        if self._waiters and True in self._waiters.values():
            self._begin()

    async def keep(self, kind: str, body: bytes) -> None:
        """Store state of the conversation, with the next event if possible."""
        live = self.live
        if self.is_abandoned:
            return
        if live.page.keeps_states:
            self._kept.append(State(live.owner, live.context_id, kind, body))
        else:
            await self._storage.write_state(live.owner, live.context_id, kind, body)

    async def truncate(self, artifacts: int) -> None:
        """Drop all of the task's artifacts but the first ones."""
        if not self.is_abandoned:
            await self.live.truncate(artifacts)

    async def count_attempt(self) -> None:
        """Note that another attempt at the message begins."""
        await self._storage.count_attempt(self.live.owner, self.live.task_id)

    async def retract(self) -> None:
        """Forget the refused message, so that it can be sent again."""
        live = self.live
        await self._storage.retract(live.owner, self.name, live.task_id)

    async def _keep_reply(self, reply: Message, kept: Collection[State]) -> None:
        """Store a reply without a task, together with `kept`."""
        live, name = self.live, self.name
        body = reply.SerializeToString() if name else None
        await self._storage.retract(live.owner, name, live.task_id, body, kept)

    async def _open(self, event: Event | None) -> None:
        """Prepare the task for the first event of this run, or for its end without one."""
        live = self.live
        if self.stage >= Stage.OPENING or live.is_terminal:
            return
        self.stage = Stage.OPENING
        if live.draft is None:
            live.add_message(self._message)
        elif not isinstance(event, Task | Message):
            await live.apply(live.draft.task)

    def _begin(self) -> None:
        """Wake waiters that wait only for the beginning."""
        self.stage = Stage.BEGUN
        if self._waiters:
            for waiter in [one for one, until_begun in self._waiters.items() if until_begun]:
                del self._waiters[waiter]
                _wake(waiter)

    def _settle(self) -> None:
        """Wake all waiters."""
        waiters, self._waiters = self._waiters, None
        if waiters is not None:
            self.live.unanswered -= 1
            for waiter in waiters:
                _wake(waiter)

    def _pass_on(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.release()

    def leave(self) -> None:
        """Abandon this run: release its turn although it continues."""
        self._mute()
        self._pass_on()
        self.end()

    def stop(self, error: A2AError | None = None) -> None:
        """Mute this run: another process continues the task.

        Args:
            error: The error for its waiters; by default that the task was lost.
        """
        self.error = error or self._loss()
        self._mute()

    def _mute(self) -> None:
        self.is_abandoned = True
        self.append_text = _dropped

    def end(self, _execution: asyncio.Task[None] | None = None) -> None:
        """Wake all waiters of this run, which has ended or is abandoned."""
        on_end, self.on_end = self.on_end, None  # breaks a cycle: the run is freed at once
        if on_end is None:
            return
        self._unavailable = None
        self._settle()
        if (subscriber := self._subscriber) is not None:
            if not subscriber.has_begun and self.error is None:
                self.live.show(subscriber)  # cancelled while it waited for its turn
            self.live.unsubscribe(subscriber)
            subscriber.error = self.error
            subscriber.close()
        on_end()

    def give_up_waiting(self, error: A2AError) -> None:
        """Refuse those who wait for a save; the run continues."""
        if self.live.page.is_saving and self._waiters is not None:
            self._unavailable = error
            self._settle()

    def _loss(self) -> A2AError:
        """Return the error now that another process has the task.

        A message that was not stored yet may be sent to that process instead.
        """
        is_unheard = self._is_follow_up and self.stage < Stage.BEGUN
        return ConversationElsewhereError() if is_unheard else StorageUnavailableError()

    @property
    def is_waiting(self) -> bool:
        """Whether other messages of its task or context have to be answered first."""
        if not self.began_at or self.live.state == states.SUBMITTED:
            return True
        # Until then, the task shows the question that this message answers.
        return self.stage < Stage.OPENING and self.live.state in states.INTERRUPTED

    @property
    def has_answered(self) -> bool:
        """Whether its task is settled."""
        return self.live.is_terminal or self.stage is Stage.INTERRUPTED

    @property
    def is_refused(self) -> bool:
        """Whether its message was refused without effect."""
        return self.error is not None and self.stage < Stage.OPENING and not self.is_abandoned


async def _dropped(artifact_id: str, text: str, *, last: bool) -> None:
    """Drop a chunk of an abandoned run."""


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def terminal_error(live: LiveTask) -> UnsupportedOperationError:
    """Return the refusal of a message to a terminal task."""
    state = TaskState.Name(live.state)
    return UnsupportedOperationError(f"Task {live.task_id} is over ({state}); start a new task")
