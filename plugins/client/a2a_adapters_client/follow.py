"""Follows a task until it is terminal or interrupted (a2a-cli 0.2, section 9)."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from a2a.types import StreamResponse, SubscribeToTaskRequest, Task, TaskStatus

from a2a_adapters import (
    RemoteAgentError,
    RemoteConnectionError,
    RemoteTimeoutError,
)
from a2a_adapters.calling.answer import Answer
from a2a_adapters.calling.failures import refuses_streams, reraise, translate
from a2a_adapters.calling.resuming import has_broken_off, settling
from a2a_adapters.protocol import states

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from a2a.types import SendMessageRequest, TaskState

    from a2a_adapters.calling.answer import NewEvent
    from a2a_adapters_client.connect import Agent

_GROWTH = 1.5
_LONGEST_SECONDS = 30.0


class Following:
    """Yields the events of a task from streams, and by polling if streams fail.

    Args:
        agent: The agent that runs the task.
        task_id: The task id; "" until it is known.

    Attributes:
        answer: The answer so far.
        news: What the last event added to the answer, for a reader.
    """

    def __init__(self, agent: Agent, task_id: str = "") -> None:
        self._agent = agent
        self.task_id = task_id
        self.context_id = ""
        self.answer = Answer(status_text=None)
        self.news: list[NewEvent] = []
        self._state: TaskState = states.UNSPECIFIED
        self._last: StreamResponse | None = None

    @property
    def is_settled(self) -> bool:
        """Whether the task is terminal or interrupted, or the answer was a message."""
        return self.answer.is_settled

    def task(self) -> Task:
        """Return the known ids and state of the task."""
        status = TaskStatus(state=self._state)
        return Task(id=self.task_id, context_id=self.context_id, status=status)

    async def sent(
        self, request: SendMessageRequest, *, only_first: bool = False
    ) -> AsyncGenerator[StreamResponse]:
        """Send a message; yield events until its task is settled, or only the first one.

        Raises:
            RemoteAgentError: Sending the message or following its task fails.
        """
        capabilities = self._agent.card.capabilities
        self.answer.is_stream = capabilities.streaming
        if request.message.task_id:
            self.answer.ignore(None)
        responses = self._agent.client.send_message(request, context=self._agent.context)
        try:
            async for response in self._noted(responses):
                yield response
        except Exception as error:
            if self._last is None and capabilities.streaming and refuses_streams(error):
                capabilities.streaming = False
                async for response in self.sent(request, only_first=only_first):
                    yield response
                return
            failure = translate(error, self._agent.card)
            if self._last is None or not self.task_id or not has_broken_off(failure):
                reraise(error, failure)
        if not only_first:
            async for response in self._until_settled():
                yield response

    async def _until_settled(self) -> AsyncGenerator[StreamResponse]:
        """Yield further events of a message that was sent, until its task is settled."""
        async for response in settling(self.answer, self._current_task):
            self._note(response)
            yield response
        if not self.is_settled:
            async for response in self.rest():
                yield response

    async def _current_task(self, task_id: str) -> Task | None:
        try:
            return await self._agent.task(task_id)
        except RemoteConnectionError:
            raise
        except RemoteAgentError:
            return None  # some agents do not support GetTask

    async def subscribed(self) -> AsyncGenerator[StreamResponse]:
        """Yield the task and its events until it is settled.

        Raises:
            RemoteAgentError: The task is unknown, terminal, or cannot be followed.
        """
        if self._agent.card.capabilities.streaming:
            try:
                async for response in self.subscription():
                    yield response
            except RemoteAgentError as error:
                if not has_broken_off(error):
                    raise
        if not self.is_settled:
            async for response in self.rest():
                yield response

    async def rest(self) -> AsyncGenerator[StreamResponse]:
        """Yield further events until the task is settled.

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
                    can_subscribe = has_broken_off(error)
            if self.is_settled:
                return
            if news := await self.asked():
                yield news
            delay = await self._paused(delay)

    async def _paused(self, delay: float) -> float:
        """Wait unless the task is settled; return the next delay."""
        await asyncio.sleep(0 if self.is_settled else delay)
        return min(delay * _GROWTH, _LONGEST_SECONDS)

    async def subscription(self) -> AsyncGenerator[StreamResponse]:
        """Yield the task and its events until the stream ends.

        Raises:
            RemoteAgentError: Subscribing fails, or the stream breaks.
        """
        request = SubscribeToTaskRequest(id=self.task_id)
        responses = self._agent.client.subscribe(request, context=self._agent.context)
        try:
            async for response in self._noted(responses):
                yield response
        except Exception as error:
            reraise(error, translate(error, self._agent.card))

    async def asked(self) -> StreamResponse | None:
        """Poll the task; return None if it has not changed."""
        before = self._last
        response = StreamResponse(task=await self._agent.task(self.task_id))
        self._note(response)
        return None if response == before else response

    async def _noted(
        self, responses: AsyncIterator[StreamResponse]
    ) -> AsyncGenerator[StreamResponse]:
        """Yield responses until one settles the task."""
        async for response in responses:
            self._note(response)
            yield response
            if self.is_settled:
                return

    def _note(self, response: StreamResponse) -> None:
        self._last = response
        self.news = self.answer.fold(response)
        match response.WhichOneof("payload"):
            case "message":
                self.context_id = response.message.context_id
            case "task":
                self.task_id, self.context_id = response.task.id, response.task.context_id
                self._state = response.task.status.state
            case "status_update":
                update = response.status_update
                self.task_id, self.context_id = update.task_id, update.context_id
                self._state = update.status.state
            case "artifact_update":
                chunk = response.artifact_update
                self.task_id, self.context_id = chunk.task_id, chunk.context_id

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncGenerator[None]:
        """Limit the time to follow the task, which keeps running.

        Raises:
            RemoteTimeoutError: The time is up; the error names the task if it is known.
        """
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            if isinstance(error, RemoteAgentError):
                raise
            raise self._named(
                RemoteTimeoutError(f"the task did not end within {seconds:g} s")
            ) from error
        except RemoteAgentError as error:
            self._named(error)
            raise

    def _named(self, error: RemoteAgentError) -> RemoteAgentError:
        error.task_id = error.task_id or self.task_id
        error.context_id = error.context_id or self.context_id
        return error
