"""What ends a task from outside: its caller, or the lack of an answer."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from a2a.server.agent_execution import RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.utils.errors import TaskNotCancelableError, UnsupportedOperationError

from a2a_adapters.concurrency.background import let_fail
from a2a_adapters.executor.writer import TextQueue
from a2a_adapters.protocol import states
from a2a_adapters.runtime.messages import STOPPED

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.events import Event
    from a2a.types import TaskState

    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.registry import LiveTasks

_NO_ANSWER = "The task ended because no answer came in time."

logger = logging.getLogger(__name__)


class CancelQueue(TextQueue):
    """The event queue an executor writes a cancellation to."""

    def __init__(self, live: LiveTask) -> None:
        self._live = live
        self.append_text = live.append_text

    async def enqueue_event(self, event: Event) -> None:
        """Apply an event to the task.

        Raises:
            InvalidAgentResponseError: The event does not fit the task.
        """
        await self._live.apply(event)

    async def announce(self, state: TaskState) -> None:
        """Do nothing: what is cancelled was announced."""

    async def keep(self, kind: str, body: bytes) -> None:
        """Do nothing: of a conversation nothing new is known by a cancellation."""

    async def take_back(self, artifacts: int) -> None:
        """Drop all of the task's artifacts but the first ones."""
        await self._live.take_back(artifacts)

    async def count_attempt(self) -> None:
        """Do nothing: a cancellation is none."""


class DeafQueue(EventQueue):
    """Takes the events of a cancellation that ends otherwise than its executor says."""

    async def enqueue_event(self, event: Event) -> None:
        """Drop an event."""


class Endings:
    """Ends tasks that do not end by themselves.

    Args:
        executor: Is told that a task is cancelled.
    """

    def __init__(self, executor: AgentExecutor) -> None:
        self._executor = executor

    async def cancel(self, live: LiveTask, context: ServerCallContext) -> None:
        """Cancel a task for its caller.

        Raises:
            TaskNotCancelableError: The executor cannot be stopped.
        """
        try:
            await self._executor.cancel(_request(live, context), CancelQueue(live))
        except UnsupportedOperationError as error:
            raise TaskNotCancelableError from error
        if not live.is_over:
            await live.set_state(states.CANCELED)
        for run in live.runs:
            run.cancel()

    async def give_up(self, live: LiveTask) -> None:
        """End a task whose caller did not answer in time; the executor is told by a cancel."""
        async with live.turn:
            if live.state not in states.INTERRUPTED:
                return  # an answer came at the last moment
            request = _request(live, ServerCallContext(user=live.user))
            try:
                await self._executor.cancel(request, DeafQueue())
            except Exception:  # the task ends all the same
                logger.exception("task %s could not be given up", live.task_id)
            await live.set_state(states.FAILED, _NO_ANSWER)


def _request(live: LiveTask, context: ServerCallContext) -> RequestContext:
    return RequestContext(context, task_id=live.task_id, context_id=live.context_id, task=live.task)


_STORE_SECONDS = 3.0
"""How long the store may take to write the last states."""

_LAST_SECONDS = 1.0
"""How long cancelled runs may take to end."""

logger = logging.getLogger(__name__)


async def end_runs(
    tasks: LiveTasks, grace_seconds: float, leave: Callable[[LiveTask], bool]
) -> None:
    """Let everything that runs go on for so long, then end it; its readers are told.

    What `leave` says yes to is handed over: another process goes on with it.
    """
    running = {run: live for live in tasks.all() for run in live.runs}
    if running:
        await asyncio.wait(running, timeout=grace_seconds)
    cut_off = {live for run, live in running.items() if not run.done() and _goes_on(live)}
    left = {live for live in cut_off if leave(live)}
    await _stored({live: live.set_state(states.FAILED, STOPPED) for live in cut_off - left})
    await _cancel(running)
    # Once another process may go on with a task, nothing works on it here.
    for live in left:
        live.page.is_handed_over = not live.runs
    await _stored({live: live.save() for live in left})
    tasks.close()


def _goes_on(live: LiveTask) -> bool:
    return not live.is_over and live.task is not None


async def _stored(endings: Mapping[LiveTask, Coroutine[None, None, None]]) -> None:
    """Store last states; a store that hangs does not keep the server from stopping."""
    writing = {asyncio.ensure_future(end): live for live, end in endings.items()}
    if writing:
        written, unwritten = await asyncio.wait(writing, timeout=_STORE_SECONDS)
        for ending in unwritten:
            ending.add_done_callback(let_fail)
            logger.error("task %s: its end is not stored, left behind", writing[ending].task_id)
        for ending in written:
            if (error := ending.exception()) is not None:
                reason = type(error).__name__
                logger.warning(
                    "task %s: its end is not stored: %s", writing[ending].task_id, reason
                )


async def _cancel(running: Mapping[asyncio.Task[None], LiveTask]) -> None:
    for run in running:
        run.cancel()
    if running:
        _, stuck = await asyncio.wait(running, timeout=_LAST_SECONDS)
        for run in stuck:
            logger.error("task %s does not end, left behind", running[run].task_id)
