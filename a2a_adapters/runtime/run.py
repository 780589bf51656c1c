"""One message on its way through the executor."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from a2a.server.events import EventQueue
from a2a.types import (
    Message,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatusUpdateEvent,
)
from a2a.types import Part as ProtocolPart
from a2a.utils.errors import A2AError, UnsupportedOperationError

from a2a_adapters import states
from a2a_adapters.ids import new_id
from a2a_adapters.runtime.guard import UnexpectedErrorsHidden
from a2a_adapters.writer import TextQueue, status

if TYPE_CHECKING:
    from a2a.server.agent_execution import AgentExecutor, RequestContext
    from a2a.server.events import Event

    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.subscriber import Subscriber

logger = logging.getLogger(__name__)


class Run:
    """Executes one message on a live task and tells when it has begun and settled.

    Args:
        live: The task.
        message: The caller's message.
        subscriber: Who reads the events of this run from its first one on.
    """

    def __init__(
        self, live: LiveTask, message: Message, subscriber: Subscriber | None = None
    ) -> None:
        loop = asyncio.get_running_loop()
        self.live = live
        self.error: A2AError | None = None
        self.is_waiting = True
        """Whether this message still waits for its turn."""
        self.began_at = 0.0
        """When its turn came; 0 if it never did."""
        self._message = message
        self._subscriber = subscriber
        self._has_events = False
        self._asks = False
        self._begun: asyncio.Future[None] = loop.create_future()
        if live.runs:  # a message that has to wait for its turn finds a task that has begun
            self._begun.set_result(None)
        self._settled: asyncio.Future[None] = loop.create_future()

    async def wait(self, *, until_begun: bool) -> Task | Message:
        """Wait for the first event or until the task ends or waits; return the result.

        Raises:
            A2AError: The message was refused.
        """
        await (self._begun if until_begun else self._settled)
        if self.error is not None:
            raise self.error
        result = self.live.reply or self.live.task
        assert result is not None  # noqa: S101 - a run without error leaves one of the two
        return result

    async def execute(self, executor: AgentExecutor, context: RequestContext) -> None:
        """Run the executor when it is this message's turn."""
        try:
            with UnexpectedErrorsHidden("a run"):
                async with self.live.turn:
                    await self._execute(executor, context)
        except A2AError as error:
            self.error = error

    def finish(self) -> None:
        """Release everyone who still waits for this run, which has ended or will not begin."""
        for future in (self._begun, self._settled):
            if not future.done():
                future.set_result(None)
        if self._subscriber:
            if not self._subscriber.has_begun and self.error is None:
                self.live.show(self._subscriber)  # cancelled while it waited for its turn
            self.live.unsubscribe(self._subscriber)
            self._subscriber.close()

    async def _execute(self, executor: AgentExecutor, context: RequestContext) -> None:
        if self.live.is_over:
            self.error = over_error(self.live)
            return
        if self._subscriber:
            self.live.subscribe(self._subscriber)
        context.current_task = self.live.task
        self.begins()
        try:
            await executor.execute(context, RunQueue(self.live, self))
            await self._complete()
        except A2AError as error:
            if self._has_events:
                await self._fail(error)
            else:
                self.error = error
        except GeneratorExit:  # this coroutine itself is closed: the loop is gone
            raise
        except asyncio.CancelledError as error:
            if not self.live.is_over:
                await self._fail(error)
            raise
        except BaseException as error:  # whatever it is, it must neither get out nor end the server
            await self._fail(error)

    def begins(self) -> None:
        """Note that this message's turn has come."""
        self.is_waiting = False
        self.began_at = time.monotonic()

    async def prepare(self, event: Event | None) -> None:
        """Make the task ready for the first event of this run, or for the lack of one."""
        if self._has_events or self.live.is_over:
            return
        self._has_events = True
        if self.live.task is not None:
            self.live.add_message(self._message)
        elif not isinstance(event, Task | Message):
            await self.live.apply(self._new_task())

    def advance(self, event: Event) -> None:
        """Release who waits for the first event, or for this run to end the task or ask."""
        if not self._begun.done():
            self._begun.set_result(None)
        if isinstance(event, TaskArtifactUpdateEvent):
            return
        self._asks = self.live.state in states.INTERRUPTED
        if (self._asks or self.live.is_over) and not self._settled.done():
            self._settled.set_result(None)

    async def _complete(self) -> None:
        """End what the executor left open."""
        await self.prepare(None)
        live = self.live
        if not live.is_over and not self._asks:
            await live.apply(status_event(live, states.COMPLETED))

    async def _fail(self, error: BaseException) -> None:
        error_id = new_id()
        logger.error("task %s failed, error id %s", self.live.task_id, error_id, exc_info=error)
        await self.prepare(None)
        if not self.live.is_over:
            text = f"The agent failed. Error id: {error_id}"
            await self.live.apply(status_event(self.live, states.FAILED, text))

    def _new_task(self) -> Task:
        return Task(
            id=self.live.task_id,
            context_id=self.live.context_id,
            status=status(states.SUBMITTED),
            history=[self._message],
        )


class RunQueue(TextQueue):
    """The event queue an executor writes to. Without a run, it writes for a cancellation."""

    def __init__(self, live: LiveTask, run: Run | None = None) -> None:
        self._live = live
        self._run = run

    async def enqueue_event(self, event: Event) -> None:
        """Apply an event to the task.

        Raises:
            InvalidAgentResponseError: The event does not fit the task.
        """
        if self._run is None:
            await self._live.apply(event)
            return
        await self._run.prepare(event)
        await self._live.apply(event)
        self._run.advance(event)

    def waits(self) -> None:
        """Note that the message waits for its turn."""
        if self._run is not None:
            self._run.is_waiting = True

    def begins(self) -> None:
        """Note that the message's turn has come."""
        if self._run is not None:
            self._run.begins()

    async def append_text(self, artifact_id: str, text: str, *, last: bool) -> None:
        """Append `text` to the text artifact, which the first chunk creates."""
        await self._live.append_text(artifact_id, text, last=last)


class DeafQueue(EventQueue):
    """Takes the events of a cancellation that ends otherwise than its executor says."""

    async def enqueue_event(self, event: Event) -> None:
        """Drop an event."""


def status_event(live: LiveTask, state: TaskState, text: str = "") -> TaskStatusUpdateEvent:
    """Return a status of `live`, with `text` as the agent's message if there is any."""
    message = None
    if text:
        message = Message(
            message_id=new_id(),
            role=Role.ROLE_AGENT,
            parts=[ProtocolPart(text=text)],
            task_id=live.task_id,
            context_id=live.context_id,
        )
    return TaskStatusUpdateEvent(
        task_id=live.task_id, context_id=live.context_id, status=status(state, message)
    )


def over_error(live: LiveTask) -> UnsupportedOperationError:
    """Return the refusal of a message to a task that has ended."""
    state = TaskState.Name(live.state)
    return UnsupportedOperationError(f"Task {live.task_id} is over ({state}); start a new task")
