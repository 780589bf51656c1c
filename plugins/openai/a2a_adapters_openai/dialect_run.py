"""One message that an agent answers for a client of a dialect."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import TYPE_CHECKING, Generic, TypeVar

from a2a.types import CancelTaskRequest, GetTaskRequest, SubscribeToTaskRequest
from a2a.utils.errors import A2AError, InternalError, TaskNotFoundError
from starlette.requests import ClientDisconnect

from a2a_adapters import TextDelta
from a2a_adapters.dialects import Answer, as_response

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from a2a.server.context import ServerCallContext
    from a2a.types import StreamResponse, Task
    from starlette.types import Receive

    from a2a_adapters.dialects import DialectAgent

T = TypeVar("T")

_REFUSAL_SECONDS = 3.0
"""Time to wait for the first event before responding, so that a refusal gets an HTTP status."""

logger = logging.getLogger(__name__)


class DialectRun(Generic[T]):
    """A running answer, whose reader gets events of the type `T`.

    Args:
        agent: The agent that answers.
        context: The caller.
        before: The task before the message, None for a new task. Its content is excluded.

    Attributes:
        answer: The answer so far.
        is_left: Whether the client has left.
    """

    def __init__(
        self, agent: DialectAgent, context: ServerCallContext, before: Task | None = None
    ) -> None:
        self.answer = Answer()
        if before is not None:
            self.answer.ignore(before)
        self.is_left = False
        self._agent = agent
        self._context = context
        self._batches: AsyncGenerator[list[T]] | None = None
        self._first: asyncio.Task[list[T] | None] | None = None

    async def begin(self, batches: AsyncGenerator[list[T]]) -> None:
        """Wait until the agent accepts the message, for a limited time.

        Args:
            batches: Yields new text and progress, already folded into `answer`.

        Raises:
            A2AError: The message was refused.
        """
        self._batches = batches
        self._first = asyncio.create_task(self._next())
        await asyncio.wait({self._first}, timeout=_REFUSAL_SECONDS)
        if self._first.done():
            self._first.result()

    async def take(self) -> Sequence[T]:
        """Wait for text or progress and return all that is available; an empty list is the end.

        Raises:
            A2AError: The answer ended early.
        """
        while True:
            first, self._first = self._first, None
            news = await (first or self._next())
            if self.is_left:
                await self._cancel()
            if news is None:
                return []
            if news:
                return news

    async def _next(self) -> list[T] | None:
        assert self._batches is not None  # noqa: S101 - it has begun
        try:
            return await anext(self._batches, None)
        except A2AError:
            raise
        except Exception as error:
            logger.exception("the answer to a client failed")
            raise InternalError from error

    async def finished(self, receive: Receive) -> Sequence[T]:
        """Wait for the end of the answer; stop the agent if the client leaves earlier.

        Returns:
            The progress events; the text is in `answer`.

        Raises:
            A2AError: The answer ended early.
            ClientDisconnect: The client disconnected.
        """
        leaving = asyncio.create_task(_disconnected(receive))
        ending = asyncio.create_task(self._progress())
        try:
            await asyncio.wait({leaving, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not ending.done():
                await self.leave()
                await ending
                raise ClientDisconnect
            return ending.result()
        finally:
            leaving.cancel()
            ending.cancel()
            await self.aclose()

    async def _progress(self) -> Sequence[T]:
        events: list[T] = []
        while news := await self.take():
            events += [each for each in news if not isinstance(each, TextDelta)]
        return events

    async def leave(self) -> None:
        """Stop the agent, whose client has left, as soon as its task is known."""
        self.is_left = True
        await self._cancel()

    async def _cancel(self) -> None:
        if not self.answer.task_id or self.answer.is_settled:
            return
        try:
            params = CancelTaskRequest(id=self.answer.task_id)
            await self._agent.handler.on_cancel_task(params, self._context)
        except A2AError as error:  # it ended meanwhile, or cannot be cancelled
            logger.info("task %s was not cancelled: %s", self.answer.task_id, error.message)

    async def aclose(self) -> None:
        """Stop reading; the task continues."""
        if self._batches is not None:
            await self._batches.aclose()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def find_task(agent: DialectAgent, task_id: str, context: ServerCallContext) -> Task | None:
    """Return the current state of a caller's task, None if it is unknown."""
    try:
        return await agent.handler.on_get_task(GetTaskRequest(id=task_id), context)
    except TaskNotFoundError:
        return None


async def subscribed(
    agent: DialectAgent,
    task: Task,
    context: ServerCallContext,
    answer: Answer,
    fold: Callable[[StreamResponse], list[T]],
) -> AsyncGenerator[list[T]]:
    """Yield the events of a running task, folded into `answer` by `fold`.

    Raises:
        UnsupportedOperationError: The task has ended.
    """
    params = SubscribeToTaskRequest(id=task.id)
    async with aclosing(agent.handler.on_subscribe_to_task(params, context)) as events:
        async for event in events:
            yield fold(as_response(event))
            if answer.is_settled:  # an open question would keep the subscription open
                return


async def ended(
    agent: DialectAgent,
    task: Task,
    context: ServerCallContext,
    fold: Callable[[StreamResponse], list[T]],
) -> AsyncGenerator[list[T]]:
    """Yield the events of a task that has ended."""
    yield fold(as_response(await find_task(agent, task.id, context) or task))
