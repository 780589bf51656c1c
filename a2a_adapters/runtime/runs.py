"""Begins runs: of messages that come in, and of those that a process which is gone has left."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from a2a.server.context import ServerCallContext
from a2a.types import Role

from a2a_adapters.protocol.errors import ServerBusyError
from a2a_adapters.runtime.admission import MessageContext
from a2a_adapters.runtime.endings import STOPPED
from a2a_adapters.runtime.room import weight
from a2a_adapters.runtime.run import Run, caller_of

if TYPE_CHECKING:
    from a2a.server.agent_execution import AgentExecutor
    from a2a.types import Message, SendMessageRequest

    from a2a_adapters.observability.figures import Figures
    from a2a_adapters.runtime.executions import Executions
    from a2a_adapters.runtime.identity import Accepted
    from a2a_adapters.runtime.journal import Journal
    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.messages import AcceptedMessages
    from a2a_adapters.runtime.push.notifier import PushNotifier
    from a2a_adapters.runtime.registry import LiveTasks
    from a2a_adapters.runtime.sent import SentRequests
    from a2a_adapters.runtime.subscriber import Subscriber


class Runs:
    """Begins runs and looks after them until they end.

    Args:
        executor: What answers the messages.
        executions: Where the runs are.
        live: Their tasks.
        journal: Where the tasks are stored.
        messages: Knows which are being answered.
        sent: What came with them.
        figures: Count them.
        push: Tells the receivers of their tasks.
    """

    def __init__(
        self,
        executor: AgentExecutor,
        executions: Executions,
        live: LiveTasks,
        journal: Journal,
        messages: AcceptedMessages,
        sent: SentRequests,
        figures: Figures,
        push: PushNotifier | None,
    ) -> None:
        self._executor = executor
        self._executions = executions
        self._live = live
        self._journal = journal
        self._messages = messages
        self._sent = sent
        self._figures = figures
        self._push = push
        self.is_closed = False
        """Whether nothing more is begun: whoever ends what runs would not know of it."""

    async def begin(
        self,
        params: SendMessageRequest,
        context: ServerCallContext,
        subscriber: Subscriber | None,
        accepted: Accepted,
    ) -> Run:
        """Begin to answer a message.

        Raises:
            ServerBusyError: There is no room for it, or nothing more is begun.
            InvalidParamsError: Its push notification config is not allowed.
        """
        live = accepted.live
        size = _size(live, params.message)
        if not self._live.room.take_if_there(live.owner, size):
            self._live.end_oldest_waiting(live.owner)
            raise ServerBusyError
        try:
            receiver = await self._push.follow(live, params, context) if self._push else ""
            self._check_open()
        except BaseException:
            self._live.room.take(live.owner, -size)
            raise
        run = Run(accepted, params.message, subscriber, caller=caller_of(context))
        request = MessageContext(context, params, live, self._journal, self._sent)
        self._start(run, request, size, receiver)
        return run

    async def resume(self, live: LiveTask) -> None:
        """Go on with the last message of a task, which a process that is gone was answering.

        Raises:
            ServerBusyError: Nothing more is begun.
            StorageUnavailableError: It cannot be read what came with the message.
        """
        task = live.shown
        assert task is not None  # noqa: S101 - it was stored
        message = next(item for item in reversed(task.history) if item.role == Role.ROLE_USER)
        params = await self._sent.beside(live, message)
        self._check_open()
        extensions = set(params.message.extensions)
        params.message.CopyFrom(message)
        context = ServerCallContext(user=live.user, requested_extensions=extensions)
        request = MessageContext(context, params, live, self._journal, self._sent, is_resumed=True)
        run = Run(self._messages.resumed(live), message, is_resumed=True)
        size = _size(live, message)
        self._live.room.take(live.owner, size)
        self._start(run, request, size)

    def leave(self, live: LiveTask) -> None:
        """Let a task's runs tell nothing more: another process goes on with it."""
        for run in self._runs_of(live):
            run.is_left, run.error = True, ServerBusyError(STOPPED)

    def lose(self, live: LiveTask) -> None:
        """Stop a task's runs: another process has it."""
        live.page.is_lost = True
        for run in self._runs_of(live):
            run.is_left, run.error = True, run.loss()
        for execution in live.runs:
            execution.cancel()

    def _check_open(self) -> None:
        if self.is_closed:
            raise ServerBusyError(STOPPED)

    def _runs_of(self, live: LiveTask) -> list[Run]:
        return [run for run in self._executions.runs if run.live is live]

    def _start(self, run: Run, request: MessageContext, size: int, receiver: str = "") -> None:
        live = run.live
        execute = run.execute(self._executor, request)
        if self._push and live.receivers:
            execute = self._push.during(execute, run, receiver, request.call_context)
        execution = asyncio.create_task(execute)
        live.runs.add(execution)
        self._executions.add(run)
        run.on_end = partial(self._ended, run, size, execution)
        execution.add_done_callback(run.end)  # also if it is cancelled before it begins

    def _ended(self, run: Run, size: int, execution: asyncio.Task[None]) -> None:
        self._executions.discard(run)
        self._messages.ended(run.accepted)
        self._figures.end(run)
        run.live.runs.discard(execution)
        size += run.live.grown
        run.live.grown = 0
        self._live.room.take(run.live.owner, -size)
        self._live.release(run.live)


def _size(live: LiveTask, message: Message) -> int:
    """Return how much a message takes while it is answered."""
    size = weight(message)
    if live.draft is None and live.task is not None:
        size += weight(live.task)
    return size
