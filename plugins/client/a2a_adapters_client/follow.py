"""Follows a task until it ends or waits (a2a-cli 0.2, section 9)."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from a2a.types import StreamResponse, SubscribeToTaskRequest, Task, TaskStatus

from a2a_adapters import (
    RemoteAgentError,
    RemoteConnectionError,
    RemoteRefusedError,
    RemoteTimeoutError,
)
from a2a_adapters.calling.failures import reraise, translate
from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import SERVER_ERROR

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from a2a.types import SendMessageRequest, TaskState

    from a2a_adapters_client.connect import Agent

_GROWTH = 1.5
_LONGEST_SECONDS = 30.0


class Following:
    """Yields what happens to a task, by streams as long as these work.

    Args:
        agent: Whose task it is.
        task_id: The task; "" before it is known.
    """

    def __init__(self, agent: Agent, task_id: str = "") -> None:
        self._agent = agent
        self.task_id = task_id
        self.context_id = ""
        self.is_settled = False
        """Whether the task has ended or waits, or there was none."""
        self._state: TaskState = states.UNSPECIFIED
        self._last: StreamResponse | None = None

    def told(self) -> Task:
        """Return what is known of the task: its ids and its state."""
        status = TaskStatus(state=self._state)
        return Task(id=self.task_id, context_id=self.context_id, status=status)

    async def sent(
        self, request: SendMessageRequest, *, only_first: bool = False
    ) -> AsyncGenerator[StreamResponse]:
        """Send a message; yield everything until its task is settled, or what comes at once.

        Raises:
            RemoteAgentError: It cannot be sent, or its task cannot be followed.
        """
        replied_to = request.message.task_id
        responses = self._agent.client.send_message(request, context=self._agent.context)
        try:
            async for response in self._noted(responses, replied_to):
                yield response
        except Exception as error:
            failure = translate(error, self._agent.card)
            if self._last is None or not self.task_id or not _has_broken_off(failure):
                reraise(error, failure)
        if not self.is_settled and not only_first:
            async for response in self.rest():
                yield response

    async def subscribed(self) -> AsyncGenerator[StreamResponse]:
        """Yield the task, and what happens to it until it is settled.

        Raises:
            RemoteAgentError: There is no such task, it has ended, or it cannot be followed.
        """
        if self._agent.card.capabilities.streaming:
            try:
                async for response in self.subscription():
                    yield response
            except RemoteAgentError as error:
                if not _has_broken_off(error):
                    raise
        if not self.is_settled:
            async for response in self.rest():
                yield response

    async def rest(self) -> AsyncGenerator[StreamResponse]:
        """Yield everything from now on until the task is settled.

        Raises:
            RemoteAgentError: The task cannot be followed.
        """
        delay = self._agent.poll_interval
        can_subscribe = self._agent.card.capabilities.streaming
        while True:
            if can_subscribe and not self.is_settled:
                try:
                    async for response in self.subscription():
                        yield response
                except RemoteAgentError as error:
                    can_subscribe = _has_broken_off(error)
            if self.is_settled:
                return
            if news := await self.asked():
                yield news
            delay = await self._paused(delay)

    async def _paused(self, delay: float) -> float:
        """Wait unless the task is settled; return how long to wait the next time."""
        await asyncio.sleep(0 if self.is_settled else delay)
        return min(delay * _GROWTH, _LONGEST_SECONDS)

    async def subscription(self) -> AsyncGenerator[StreamResponse]:
        """Yield the task and what happens to it, as long as the stream lasts.

        Raises:
            RemoteAgentError: It cannot be subscribed to, or the stream breaks.
        """
        request = SubscribeToTaskRequest(id=self.task_id)
        responses = self._agent.client.subscribe(request, context=self._agent.context)
        try:
            async for response in self._noted(responses):
                yield response
        except Exception as error:
            reraise(error, translate(error, self._agent.card))

    async def asked(self) -> StreamResponse | None:
        """Return the task, None if it is as it was when it was last asked for."""
        before = self._last
        response = StreamResponse(task=await self._agent.task(self.task_id))
        self._note(response)
        return None if response == before else response

    async def _noted(
        self, responses: AsyncIterator[StreamResponse], replied_to: str = ""
    ) -> AsyncGenerator[StreamResponse]:
        """Yield responses until one settles the task; what it was before a reply does not."""
        async for response in responses:
            self._note(response)
            yield response
            is_question = self.is_settled and response.task.status.state in states.INTERRUPTED
            if self.is_settled and not (replied_to and is_question):
                return

    def _note(self, response: StreamResponse) -> None:
        self._last = response
        match response.WhichOneof("payload"):
            case "message":
                self.context_id = response.message.context_id
                self.is_settled = True
            case "task":
                self.task_id, self.context_id = response.task.id, response.task.context_id
                self._note_state(response.task.status.state)
            case "status_update":
                update = response.status_update
                self.task_id, self.context_id = update.task_id, update.context_id
                self._note_state(update.status.state)
            case "artifact_update":
                chunk = response.artifact_update
                self.task_id, self.context_id = chunk.task_id, chunk.context_id

    def _note_state(self, state: TaskState) -> None:
        self._state = state
        self.is_settled = state in states.SETTLED

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncGenerator[None]:
        """Stop after a time; the task goes on.

        Raises:
            RemoteTimeoutError: The time was over. It names the task, if that is known.
        """
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            if isinstance(error, RemoteAgentError):
                raise
            raise self._named(RemoteTimeoutError(f"no end within {seconds:g} s")) from error
        except RemoteAgentError as error:
            self._named(error)
            raise

    def _named(self, error: RemoteAgentError) -> RemoteAgentError:
        error.task_id = error.task_id or self.task_id
        error.context_id = error.context_id or self.context_id
        return error


def _has_broken_off(failure: RemoteAgentError) -> bool:
    """Tell whether a stream ended although its task may go on."""
    if isinstance(failure, RemoteRefusedError):
        return failure.code == SERVER_ERROR
    return isinstance(failure, RemoteConnectionError)
