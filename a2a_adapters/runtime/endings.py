"""What ends a task from outside: its caller, or the lack of an answer."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from a2a.server.agent_execution import RequestContext
from a2a.server.context import ServerCallContext
from a2a.utils.errors import TaskNotCancelableError, UnsupportedOperationError

from a2a_adapters import states
from a2a_adapters.runtime.run import DeafQueue, RunQueue, status_event

if TYPE_CHECKING:
    from a2a.server.agent_execution import AgentExecutor

    from a2a_adapters.runtime.live import LiveTask

_NO_ANSWER = "The task ended because no answer came in time."

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


def _request(live: LiveTask, context: ServerCallContext) -> RequestContext:
    return RequestContext(context, task_id=live.task_id, context_id=live.context_id, task=live.task)
