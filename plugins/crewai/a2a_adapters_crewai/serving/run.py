"""One run of a crew, flow or agent: what it tells, what it asks, and how it ends."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from crewai.events.stream_context import add_stream_sink

from a2a_adapters import AgentEvent, AgentRequest, InputRequired, InvalidInputError
from a2a_adapters_crewai.serving.mcp import McpCalls

if TYPE_CHECKING:
    from threading import BoundedSemaphore

    from crewai.flow.async_feedback.types import PendingFeedbackContext

    from a2a_adapters_crewai.serving.loop import SharedLoop
    from a2a_adapters_crewai.serving.progress import News

_TOO_MANY = (
    "a question of Flow.ask() was refused: each waits for its caller in a thread, and there are "
    "max_asking of them; adapt(..., max_asking=...) allows more, and @human_feedback needs none"
)

logger = logging.getLogger(__name__)

Work: TypeAlias = "Callable[[Run], Awaitable[Any]]"
"""What is to be run, and returns its result."""

current_run: contextvars.ContextVar[Run | None] = contextvars.ContextVar(
    "a2a_adapters_crewai_run", default=None
)
"""The served run that the code, in whatever thread, belongs to."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the run waits for its caller to answer."""

    event: InputRequired
    reply: Future[AgentRequest] = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class Ended:
    """The run's result, or what it raised."""

    result: Any = None
    error: BaseException | None = None


RunItem: TypeAlias = AgentEvent | Question | Ended


class Run:
    """Runs `work` and hands over its events, its questions and its end, one by one.

    Args:
        request: What is being answered.
        work: Starts the crew, flow or agent.
        news: Translates crewai's events.
    """

    def __init__(self, request: AgentRequest, work: Work, news: News) -> None:
        self.task_id = request.task_id
        self.cancelled = request.cancelled
        self._work = work
        self._news = news
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[RunItem] = asyncio.Queue()
        self._task: asyncio.Task[Any] | None = None
        self._questions: list[Question] = []
        self._mcp_calls = McpCalls()
        self._waiting: BoundedSemaphore | None = None
        self.is_over = False
        self.durable_flow: object = None
        """The flow that stores itself when it asks, so that nothing waits in memory."""
        self.feedback: dict[str, PendingFeedbackContext] = {}
        """What the caller was last asked by `@human_feedback`, by the flow's method."""

    def start(self, loop: SharedLoop, prepare: Callable[[Run], None]) -> None:
        """Begin, in that loop, once `prepare` has set up the run's context."""
        self._waiting = loop.waiting
        loop.run(self._to_end, self._context(prepare))

    async def next(self) -> RunItem:
        """Wait for what comes next."""
        return await self._items.get()

    def ask(self, event: InputRequired) -> Future[AgentRequest]:
        """Ask the caller; return where the answer will be. May be called from any thread."""
        question = Question(event)
        self._questions.append(question)
        if self.is_over:
            question.reply.cancel()
        self._put(question)
        return question.reply

    def ask_in_thread(self, event: InputRequired) -> AgentRequest:
        """Ask the caller in a thread, which waits; return the answer.

        Raises:
            InvalidInputError: Too many threads wait for callers already.
        """
        assert self._waiting is not None  # noqa: S101 - it was started
        if not self._waiting.acquire(blocking=False):
            logger.warning(_TOO_MANY)
            error = InvalidInputError("too many callers are asked something; try again later")
            self.fail(error)  # crewai lets no error of a question through
            raise error
        try:
            return self.ask(event).result()
        finally:
            self._waiting.release()

    def fail(self, error: Exception) -> None:
        """End the run with an error that crewai would not let through."""
        self._put(Ended(error=error))

    def cancel(self) -> None:
        """End the run: at once where it waits, before the next model or tool call otherwise."""
        if self.is_over:
            return
        self.is_over = True
        for question in self._questions:
            question.reply.cancel()
        self._mcp_calls.cancel()
        if self._task is not None:
            with suppress(RuntimeError):  # the loop of a run that has ended is closed
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    def _context(self, prepare: Callable[[Run], None]) -> contextvars.Context:
        context = contextvars.copy_context()
        context.run(current_run.set, self)
        context.run(add_stream_sink, self._take)
        context.run(prepare, self)
        return context

    def _take(self, source: Any, event: Any) -> None:
        """Take one of crewai's events, in whatever thread it happens."""
        self._mcp_calls.take(event)
        for news in self._news.take(source, event):
            self._put(news)

    def _put(self, item: RunItem) -> None:
        with suppress(RuntimeError):  # nobody listens any more, the server has stopped
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)

    async def _to_end(self) -> None:
        self._task = asyncio.current_task()
        if self.is_over:  # it was cancelled before it began
            return
        try:
            ended = Ended(await self._work(self))
        except asyncio.CancelledError:
            ended = Ended(error=RuntimeError("the run was cancelled"))
        except BaseException as error:  # sys.exit() in an agent must not end the server
            ended = Ended(error=error)
        self._put(ended)
