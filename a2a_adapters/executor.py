"""Runs an adapter as an a2a-sdk `AgentExecutor`, on our runtime or on any a2a-sdk server."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.utils.errors import InvalidParamsError

from a2a_adapters import states
from a2a_adapters.adapter import Adapter, AgentRequest, CancelFlag, Turn
from a2a_adapters.clock import RunClock, TimeLimitError
from a2a_adapters.conversations import Conversations
from a2a_adapters.conversion import agent_request, is_durable_question
from a2a_adapters.errors import InvalidInputError
from a2a_adapters.events import (
    AgentEvent,
    InputRequired,
    Output,
    Progress,
    ProgressEvent,
    Rejected,
    Reply,
    TaskMetadata,
    TextDelta,
    ToolCall,
    ToolResult,
)
from a2a_adapters.ids import new_id
from a2a_adapters.limits import Limits
from a2a_adapters.parking import AdapterEvents, ParkedRuns
from a2a_adapters.writer import TaskWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a.server.events import EventQueue
    from a2a.types import Task, TaskState

__all__ = ["AdapterExecutor", "Redact"]

Redact: TypeAlias = "Callable[[ProgressEvent], ProgressEvent | None]"
"""Changes a progress event before it is sent; None drops it."""

_NO_LONGER_WAITING = (
    "The agent no longer waits for this answer: it took too long or the agent was restarted. "
    "Please start a new task."
)

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Run:
    """One execution: a message being answered."""

    request: AgentRequest
    writer: TaskWriter
    events: AdapterEvents | None = None
    answers_parked: bool = False
    announced: bool = False
    parked: bool = False


class AdapterExecutor(AgentExecutor):
    """Feeds requests to an adapter and its events to the task.

    Failures end the task with a fixed text and an error id; what happened is in the log only.

    Args:
        adapter: What answers.
        limits: Time limits and the bounds of the conversation memory.
        redact: Sees every event of the progress extension before it is sent.
    """

    def __init__(
        self, adapter: Adapter, limits: Limits | None = None, redact: Redact | None = None
    ) -> None:
        self.adapter = adapter
        self._limits = limits or Limits()
        self._redact = redact
        self._conversations = Conversations(self._limits)
        self._slots = asyncio.Semaphore(self._limits.runs)
        self._running: dict[str, CancelFlag] = {}
        self._parked = ParkedRuns(self._limits.input_seconds)

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Answer one message.

        Raises:
            InvalidParamsError: The target cannot use the message; no task was created.
        """
        run = self._begin(context, event_queue)
        self._running[run.request.task_id] = run.request.cancelled
        try:
            await self._answer(run, context.current_task)
        except InvalidInputError as error:
            if not run.writer.has_written:
                raise InvalidParamsError(str(error)) from error
            await run.writer.finish(states.REJECTED, str(error))
        except (asyncio.CancelledError, GeneratorExit):
            run.request.cancelled.set()
            raise
        except TimeLimitError as error:
            await self._fail(run, error, str(error))
        except BaseException as error:  # nothing may reach the wire, nor sys.exit() end the server
            await self._fail(run, error, "The agent failed.")
        finally:
            del self._running[run.request.task_id]
            if run.events is not None and not run.parked:
                await run.events.aclose()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Stop the work on a task and mark the task as cancelled."""
        task_id = context.task_id or ""
        if task_id in self._running:
            self._running[task_id].set()
        abandoned = None
        if is_durable_question(context.current_task):  # which it is no longer when it has ended
            abandoned = agent_request(context, context.context_id or "", CancelFlag())
        writer = TaskWriter(event_queue, task_id, context.context_id or "")
        await writer.finish(states.CANCELED)
        # The user's code has the last word in its own time, it cannot keep the task from ending.
        self._parked.drop(task_id)
        if abandoned:
            self._parked.in_background(self._abandon(abandoned))

    async def _abandon(self, request: AgentRequest) -> None:
        request.cancelled.set()
        async with self._conversations.turn((request.owner, request.context_id)):
            await self.adapter.abandon(request)

    async def aclose(self) -> None:
        """Release every parked run and the adapter."""
        await self._parked.aclose(self._limits.shutdown_seconds)
        await self.adapter.aclose()

    def _begin(self, context: RequestContext, queue: EventQueue) -> _Run:
        task = context.current_task
        task_id = context.task_id or ""
        # a2a-sdk 1.3 makes up a context id for a follow-up that names only its task.
        context_id = task.context_id if task else context.context_id or ""
        parked = self._parked.take(task_id)
        cancelled = parked.cancelled if parked else CancelFlag()
        request = agent_request(context, context_id, cancelled)
        run = _Run(request, TaskWriter(queue, task_id, context_id), announced=task is not None)
        if parked:
            run.events, run.answers_parked = parked.events, True
        return run

    async def _answer(self, run: _Run, task: Task | None) -> None:
        request = run.request
        key = (request.owner, request.context_id)
        has_to_wait = self._conversations.is_busy(key) or self._slots.locked()
        if has_to_wait and not run.announced:
            await self._announce(run, states.SUBMITTED)
        run.writer.waits()
        async with self._conversations.turn(key) as conversation, self._slots:
            run.writer.begins()
            if request.resuming and run.events is None and not is_durable_question(task):
                await run.writer.finish(states.FAILED, _NO_LONGER_WAITING)
                return
            if self.adapter.uses_history:
                request = run.request = replace(request, history=tuple(conversation.turns))
            if run.events is None:
                run.events = self.adapter.stream(request)
            if run.announced:
                await run.writer.working()
            elif not self.adapter.may_reply:
                await self._announce(run, states.WORKING)
            async with RunClock(self._limits) as clock:
                await self._pump(run, run.events, clock)
            if self.adapter.uses_history and not request.cancelled:
                conversation.turns.append(Turn("user", request.parts))
                conversation.turns.append(Turn("agent", tuple(run.writer.said)))

    async def _pump(self, run: _Run, events: AdapterEvents, clock: RunClock) -> None:
        """Write every event until the adapter ends or waits for its caller."""
        writer, cancelled = run.writer, run.request.cancelled
        if run.answers_parked:
            try:
                event = await events.asend(run.request)
            except StopAsyncIteration:
                await writer.finish(states.COMPLETED)
                return
            if await self._write(run, event):
                return
        async for event in events:
            clock.tick()
            if cancelled:
                return
            if type(event) is TextDelta and run.announced:
                await writer.text(event.text)
            elif await self._write(run, event):
                return
        if cancelled:
            return
        if not run.announced:
            await self._announce(run, states.WORKING)
        await writer.finish(states.COMPLETED)

    async def _write(self, run: _Run, event: AgentEvent) -> bool:
        """Write one event; return whether the run ends with it."""
        if isinstance(event, Reply) and not run.announced:
            await run.writer.reply(event)
            return True
        if not run.announced:
            await self._announce(run, states.WORKING)
        if isinstance(event, InputRequired):
            if not event.durable:
                self._park(run)
            await run.writer.ask(event)
            return True
        if isinstance(event, Rejected):
            await run.writer.finish(states.REJECTED, event.reason)
            return True
        await self._write_content(run, event)
        return False

    async def _write_content(self, run: _Run, event: AgentEvent) -> None:
        match event:
            case TextDelta(text=text):
                await run.writer.text(text)
            case Output():
                await run.writer.output(event)
            case Reply(parts=parts, metadata=metadata):
                await run.writer.output(Output(parts, metadata=metadata))
            case TaskMetadata(values=values):
                run.writer.add_metadata(dict(values))
            case Progress() | ToolCall() | ToolResult():
                await self._progress(run, event)
            case _:
                raise TypeError(f"an adapter yielded {type(event).__name__}, not an AgentEvent")

    async def _announce(self, run: _Run, state: TaskState) -> None:
        run.announced = True
        await run.writer.announce(run.request.message, state)

    async def _progress(self, run: _Run, event: ProgressEvent) -> None:
        if not run.request.wants_progress:
            return
        shown = self._redact(event) if self._redact else event
        if shown is not None:
            await run.writer.progress(shown)

    def _park(self, run: _Run) -> None:
        assert run.events is not None  # noqa: S101 - it has just yielded the question
        self._parked.park(run.request.task_id, run.events, run.request.cancelled)
        run.parked = True

    async def _fail(self, run: _Run, error: BaseException, reason: str) -> None:
        if run.parked:
            self._parked.drop(run.request.task_id)
        run.request.cancelled.set()  # threads of this run have no one to work for any more
        error_id = new_id()
        logger.error("task %s failed, error id %s", run.request.task_id, error_id, exc_info=error)
        if not run.announced:
            await self._announce(run, states.WORKING)
        await run.writer.finish(states.FAILED, f"{reason} Error id: {error_id}")
