"""Cancels tasks, on request of their caller or for lack of an answer."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from a2a.server.agent_execution import RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.utils.errors import TaskNotCancelableError, UnsupportedOperationError

from a2a_adapters.concurrency.background import abandon
from a2a_adapters.executor.writer import TextQueue
from a2a_adapters.protocol import states
from a2a_adapters.protocol.owner import Owner

if TYPE_CHECKING:
    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.events import Event

    from a2a_adapters.runtime.live import LiveTask

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


class Cancellation:
    """Cancels interrupted or running tasks, and has their executor cancel its work on them."""

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
        abandon(live.task_id)

    async def give_up(self, live: LiveTask) -> None:
        """Fail a task whose caller did not answer in time, after cancelling its executor."""
        async with live.turn:
            if live.state not in states.INTERRUPTED:
                return  # an answer has just come
            request = _request(live, ServerCallContext(user=Owner(live.owner)))
            try:
                await self._executor.cancel(request, DroppingQueue())
            except Exception:  # the task ends anyway
                logger.exception("task %s could not be given up", live.task_id)
            await live.set_state(states.FAILED, _NO_ANSWER)
            abandon(live.task_id)


def _request(live: LiveTask, context: ServerCallContext) -> RequestContext:
    return RequestContext(context, task_id=live.task_id, context_id=live.context_id, task=live.task)
