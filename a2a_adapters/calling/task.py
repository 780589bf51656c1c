"""A task at a remote agent, for callers that do not wait for it."""

from __future__ import annotations

import math
from contextlib import aclosing
from typing import TYPE_CHECKING

from a2a.types import GetTaskRequest, Role

from a2a_adapters.calling.answer import Answer
from a2a_adapters.calling.errors import RemoteTimeoutError
from a2a_adapters.calling.exchange import final_reply
from a2a_adapters.calling.reply import AgentReply, RemoteArtifact, RemoteEvent
from a2a_adapters.concurrency import blocking
from a2a_adapters.concurrency.threads import computed_if_large
from a2a_adapters.contract.adapter import Turn
from a2a_adapters.protocol import states
from a2a_adapters.protocol.conversion import message_parts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from typing import Unpack

    from a2a.types import Task, TaskStatus

    from a2a_adapters.calling.messenger import MessageInput, Messenger
    from a2a_adapters.calling.options import PushReceiver, SendOptions


class RemoteTask:
    """A task at a remote agent: a handle to wait for it, answer it or cancel it later.

    `RemoteAgent.start` returns one; `RemoteAgent.task` returns one for a stored id, also in another
    process. Operations that are given up, such as a `result` that times out, do not cancel the
    task.

    Attributes:
        id: The agent's id of the task, to be stored. It is "" if the agent answered with a bare
            message, for which it keeps no task; then only `result` and `events` can be used.
        context_id: The conversation; "" if unknown.
        state: The state when it was last seen; "unknown" for a stored id.
    """

    def __init__(
        self,
        messenger: Messenger,
        seen: AgentReply,
        *,
        headers: Mapping[str, str] | None = None,
        notify: PushReceiver | None = None,
    ) -> None:
        self._messenger = messenger
        self._headers = headers
        self._notify = notify
        self._message = seen if not seen.task_id else None
        self._old_status: TaskStatus | None = None
        self.id = seen.task_id
        self.context_id = seen.context_id
        self.state = seen.state

    def __repr__(self) -> str:
        return f"RemoteTask({self.id!r}, state={self.state!r})"

    async def status(self) -> AgentReply:
        """Return the task's current state, with its answer so far.

        Raises:
            RemoteAgentError: The agent does not know the task, or does not answer.
        """
        return await self._note(await self._get())

    async def result(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - part of the API, like `send`'s
        *,
        cancel: bool = False,
    ) -> AgentReply:
        """Wait until the task has ended or asks a question, and return its complete answer.

        Also waits while the agent is unreachable, such as during a restart.

        Args:
            timeout: Maximum time to wait in seconds; None waits without limit, except that
                an unreachable agent gets five minutes.
            cancel: Whether to cancel the task when the time is up.

        Raises:
            RemoteTimeoutError: The time is up; call this again to keep waiting.
            RemoteTaskError: The task failed, was rejected or was cancelled.
            RemoteAgentError: The agent does not know the task, or stays unreachable.
        """
        try:
            return await final_reply(self.events(timeout))
        except RemoteTimeoutError:
            if cancel:
                await self.cancel()
            raise

    async def events(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - part of the API
    ) -> AsyncGenerator[RemoteEvent]:
        """Yield the task's answer from its beginning, and finally the complete `AgentReply`.

        A broken connection is resumed: nothing is lost or yielded twice. Arguments and errors are
        those of `result`.
        """
        if self._message is not None:
            yield self._message
            return
        events = self._messenger.follow(
            self.id,
            math.inf if timeout is None else timeout,
            old_status=self._old_status,
            headers=self._headers,
            notify=self._notify,
        )
        async with aclosing(events):
            async for event in events:
                if isinstance(event, AgentReply):
                    self._take(event)
                yield event

    async def answer(self, message: MessageInput, **options: Unpack[SendOptions]) -> None:
        """Answer the task's question, and return as soon as the agent has taken the answer.

        Args:
            message: A text, a part or several parts.
            **options: Metadata, timeout and headers, see `SendOptions`.

        Raises:
            RemoteAgentError: The agent does not take the answer.
        """
        options.setdefault("headers", self._headers)
        task = await self._get()
        exchange = await self._messenger.begin(
            message, context_id=task.context_id, task_id=self.id, **options
        )
        self._take(await exchange.start())
        self._old_status = task.status if task.status.state in states.INTERRUPTED else None

    async def cancel(self) -> AgentReply:
        """Cancel the task, and return its last state.

        Raises:
            RemoteAgentError: The task cannot be cancelled, or the agent does not answer.
        """
        return await self._note(await self._messenger.cancel(self.id, self._headers))

    async def history(self, length: int | None = None) -> Sequence[Turn]:
        """Return the messages of the task, at most the last `length`.

        Raises:
            RemoteAgentError: The agent does not know the task, or does not answer.
        """
        task = await self._get(length)
        return [
            Turn("user" if message.role == Role.ROLE_USER else "agent", message_parts(message))
            for message in task.history
        ]

    async def artifacts(self) -> Sequence[RemoteArtifact]:
        """Return the results so far.

        Raises:
            RemoteAgentError: The agent does not know the task, or does not answer.
        """
        return (await self.status()).artifacts

    def _take(self, reply: AgentReply) -> AgentReply:
        self.context_id, self.state = reply.context_id or self.context_id, reply.state
        return reply

    async def _get(self, history: int | None = None) -> Task:
        request = GetTaskRequest(id=self.id, history_length=history)
        return await self._messenger.call(
            "GetTask", lambda transport: transport.get_task(request), self._headers
        )

    async def _note(self, task: Task) -> AgentReply:
        reply = await computed_if_large(task.ByteSize(), as_reply, task)
        return self._take(await self._messenger.intercepted(reply))

    status_sync = blocking.running(status)
    result_sync = blocking.running(result)
    events_sync = blocking.iterating(events)
    answer_sync = blocking.running(answer)
    cancel_sync = blocking.running(cancel)
    history_sync = blocking.running(history)
    artifacts_sync = blocking.running(artifacts)


def as_reply(task: Task) -> AgentReply:
    """Return a task's state and its answer so far."""
    answer = Answer()
    answer.fold_task(task)
    return answer.finish()[1]
