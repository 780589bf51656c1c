"""Ends tasks from outside: on request of the caller, for lack of an answer, or at shutdown."""

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

    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.registry import LiveTasks

_NO_ANSWER = "The task ended because no answer came in time."

logger = logging.getLogger(__name__)


class CancelQueue(TextQueue):
    """The event queue of a cancellation."""

    def __init__(self, live: LiveTask) -> None:
        self._live = live
        self.append_text = live.append_text

    async def enqueue_event(self, event: Event) -> None:
        """Apply an event to the task.

        Raises:
            InvalidAgentResponseError: The event does not fit the task.
        """
        await self._live.apply(event)


class DroppingQueue(EventQueue):
    """Drops the events of a cancellation whose outcome is decided already."""

    async def enqueue_event(self, event: Event) -> None:
        """Drop an event."""


class Endings:
    """Ends interrupted or running tasks, and has their executor cancel them."""

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
        if not live.is_terminal:
            await live.set_state(states.CANCELED)
        for run in live.runs:
            run.cancel()

    async def give_up(self, live: LiveTask) -> None:
        """Fail a task whose caller did not answer in time, after cancelling its executor."""
        async with live.turn:
            if live.state not in states.INTERRUPTED:
                return  # an answer has just come
            request = _request(live, ServerCallContext(user=live.user))
            try:
                await self._executor.cancel(request, DroppingQueue())
            except Exception:  # the task ends anyway
                logger.exception("task %s could not be given up", live.task_id)
            await live.set_state(states.FAILED, _NO_ANSWER)


def _request(live: LiveTask, context: ServerCallContext) -> RequestContext:
    return RequestContext(context, task_id=live.task_id, context_id=live.context_id, task=live.task)


_STORE_SECONDS = 3.0
"""Time limit for storing the last states."""

_LAST_SECONDS = 1.0
"""Time limit for cancelled runs to end."""

logger = logging.getLogger(__name__)


async def end_runs(
    tasks: LiveTasks, grace_seconds: float, leave: Callable[[LiveTask], bool]
) -> None:
    """Wait for running tasks, then end those that are left.

    Args:
        tasks: The live tasks.
        grace_seconds: The time to wait.
        leave: Leaves a task to the next process; returns whether that can resume it.
    """
    running = {run: live for live in tasks.all() for run in live.runs}
    if running:
        await asyncio.wait(running, timeout=grace_seconds)
    cut_off = {live for run, live in running.items() if not run.done() and _goes_on(live)}
    left = {live for live in cut_off if leave(live)}
    await _stored({live: live.set_state(states.FAILED, STOPPED) for live in cut_off - left})
    await _cancel(running)
    # Hand a task over only when nothing works on it here any more.
    for live in left:
        live.page.is_handed_over = not live.runs
    await _stored({live: live.save() for live in left})
    tasks.close()


def _goes_on(live: LiveTask) -> bool:
    return not live.is_terminal and live.task is not None


async def _stored(endings: Mapping[LiveTask, Coroutine[None, None, None]]) -> None:
    """Store last states; a store that hangs does not delay shutdown."""
    writing = {asyncio.ensure_future(end): live for live, end in endings.items()}
    if writing:
        written, unwritten = await asyncio.wait(writing, timeout=_STORE_SECONDS)
        for ending in unwritten:
            ending.add_done_callback(let_fail)
            logger.error(
                "task %s: its last state was not stored in time; abandoned", writing[ending].task_id
            )
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
            logger.error("task %s did not end; abandoned", running[run].task_id)
