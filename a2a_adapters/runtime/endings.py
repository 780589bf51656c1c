"""What ends a task from outside: its caller, the clock, the end of the server."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from a2a.server.agent_execution import RequestContext
from a2a.server.context import ServerCallContext
from a2a.utils.errors import TaskNotCancelableError, UnsupportedOperationError

from a2a_adapters import states
from a2a_adapters.runtime.run import DeafQueue, RunQueue, status_event

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a.server.agent_execution import AgentExecutor

    from a2a_adapters.runtime.live import LiveTask

STOPPED = "The server was stopped."
_NO_ANSWER = "The task ended because no answer came in time."

_LAST_SECONDS = 1.0
"""How long cancelled runs may take to end when the server stops."""

logger = logging.getLogger(__name__)


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
            await self._executor.cancel(_request(live, context), RunQueue(live))
        except UnsupportedOperationError as error:
            raise TaskNotCancelableError from error
        if not live.is_over:
            await live.apply(status_event(live, states.CANCELED))
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
            await live.apply(status_event(live, states.FAILED, _NO_ANSWER))

    async def stop(self, tasks: Iterable[LiveTask], seconds: float) -> None:
        """Give running tasks their time, then end them."""
        running = {run: live for live in tasks for run in live.runs}
        if not running:
            return
        await asyncio.wait(running, timeout=seconds)
        for run, live in running.items():
            if not run.done():
                if not live.is_over and live.task is not None:
                    await live.apply(status_event(live, states.FAILED, STOPPED))
                run.cancel()
        _, stuck = await asyncio.wait(running, timeout=_LAST_SECONDS)
        for run in stuck:
            logger.error("task %s does not end, left behind", running[run].task_id)


def _request(live: LiveTask, context: ServerCallContext) -> RequestContext:
    return RequestContext(context, task_id=live.task_id, context_id=live.context_id, task=live.task)
