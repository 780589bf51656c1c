"""One run of a crew, flow or agent: its events, its questions and its end."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from crewai import Crew
from crewai.events.stream_context import add_stream_sink
from crewai.events.types.crew_events import (
    CrewKickoffCompletedEvent,
    CrewKickoffFailedEvent,
    CrewKickoffStartedEvent,
)
from crewai.events.types.mcp_events import MCPConnectionStartedEvent
from crewai.hooks import register_before_llm_call_hook, register_before_tool_call_hook

from a2a_adapters import (
    AgentEvent,
    AgentRequest,
    InputRequired,
    InvalidInputError,
    Output,
    TargetError,
)
from a2a_adapters_crewai.serving.crew_bases import crew_base_of, own_crew_bases, use_crew_base
from a2a_adapters_crewai.serving.targets import parts_of

if TYPE_CHECKING:
    from threading import BoundedSemaphore

    from crewai.flow.async_feedback.types import PendingFeedbackContext

    from a2a_adapters_crewai.serving.output import RunEvents

_TOO_MANY = (
    "a question of Flow.ask() was refused: each waits for its caller in a thread, and the limit "
    "is max_asking; adapt(..., max_asking=...) raises it, and @human_feedback needs no thread"
)

logger = logging.getLogger(__name__)

Work: TypeAlias = "Callable[[CrewRun], Awaitable[Any]]"
"""Starts a crew, flow or agent, and returns its result."""

current_run: contextvars.ContextVar[CrewRun | None] = contextvars.ContextVar(
    "a2a_adapters_crewai_run", default=None
)
"""The served run that the current code belongs to, in any thread."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question for the caller of the run."""

    event: InputRequired
    reply: Future[AgentRequest] = field(default_factory=Future)

    def answer(self, reply: AgentRequest | None) -> None:
        """Pass the caller's reply to the code that asked."""
        if reply is None:
            raise RuntimeError("the run was continued without an answer")
        self.reply.set_result(reply)


@dataclass(frozen=True, slots=True)
class Ended:
    """The run's result, or its exception."""

    result: Any = None
    error: BaseException | None = None


RunItem: TypeAlias = AgentEvent | Question | Ended


class CrewRun:
    """Runs `work` and provides its events, its questions and its end, one by one.

    Args:
        request: The request.
        work: Starts the crew, flow or agent.
        events: Converts crewai's events.
        waiting: Bounds the threads that wait for callers.

    Attributes:
        answer: Streams the answer.
        is_over: Whether the run has been cancelled or closed.
        durable_flow: The flow that stores itself when it asks, so that nothing waits in memory.
        feedback: The last question of `@human_feedback` of each method of a flow.
    """

    def __init__(
        self, request: AgentRequest, work: Work, events: RunEvents, waiting: BoundedSemaphore
    ) -> None:
        self.task_id = request.task_id
        self.cancelled = request.cancelled
        self.answer = events.answer
        self.is_over = False
        self.durable_flow: object = None
        self.feedback: dict[str, PendingFeedbackContext] = {}
        self._work = work
        self._events = events
        self._waiting = waiting
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[RunItem] = asyncio.Queue()
        self._working: Future[None] = Future()
        self._questions: list[Question] = []
        self._mcp_calls: set[asyncio.Task[Any]] = set()

    def start(self, loop: asyncio.AbstractEventLoop, prepare: Callable[[CrewRun], None]) -> None:
        """Start the work.

        Args:
            loop: The event loop of the runs, in another thread.
            prepare: Sets up the run's context.
        """
        context = contextvars.copy_context()
        context.run(current_run.set, self)
        context.run(add_stream_sink, self._take)
        context.run(prepare, self)
        self._working = context.run(asyncio.run_coroutine_threadsafe, self._run(), loop)

    async def next(self) -> RunItem:
        """Wait for the next item."""
        return await self._items.get()

    def ask(self, event: InputRequired) -> Future[AgentRequest]:
        """Ask the caller, from any thread. The answer becomes the result of the future."""
        question = Question(event)
        self._questions.append(question)
        if self.is_over:
            question.reply.cancel()
        for withdrawal in self.answer.withdraw():  # the result follows the reply, and may differ
            self._put(withdrawal)
        self._put(question)
        return question.reply

    def ask_in_thread(self, event: InputRequired) -> AgentRequest:
        """Ask the caller, block the current thread, and return the answer.

        Raises:
            InvalidInputError: Too many threads wait for callers already.
        """
        if not self._waiting.acquire(blocking=False):
            logger.warning(_TOO_MANY)
            error = InvalidInputError("too many questions are open; please try again later")
            self.fail(error)  # crewai swallows errors of questions
            raise error
        try:
            return self.ask(event).result()
        finally:
            self._waiting.release()

    def send(self, output: Output) -> None:
        """Send an output before the end of the run."""
        self._put(output)

    def fail(self, error: Exception) -> None:
        """End the run with an error that crewai would swallow."""
        self._put(Ended(error=error))

    def cancel(self) -> None:
        """End the run: at once where it waits, otherwise before its next model or tool call."""
        if self.is_over:
            return
        self.is_over = True
        for question in self._questions:
            question.reply.cancel()
        self._working.cancel()
        for call in tuple(self._mcp_calls):
            with suppress(RuntimeError):  # the loop of a call that has ended may be closed
                call.get_loop().call_soon_threadsafe(call.cancel)

    def _take(self, source: Any, event: Any) -> None:
        """Convert one of crewai's events, in the thread that emits it."""
        match source, event:
            case _, MCPConnectionStartedEvent():
                self._note_mcp_call()
            case Crew(), CrewKickoffStartedEvent():
                _claim(source, self)
                use_crew_base(crew_base_of(source))
            case Crew(), CrewKickoffCompletedEvent() | CrewKickoffFailedEvent():
                _release(self, source)
        for item in self._events.take(source, event):
            self._put(item)

    def _note_mcp_call(self) -> None:
        """Remember the current task, in which crewai connects to an MCP server.

        crewai connects for each call of a tool, in an event loop of its own that blocks the thread
        and that cancelling the run's task does not reach.

        Raises:
            CancelledError: The run is over; after any other error crewai would retry and wait.
        """
        if self.is_over:
            raise asyncio.CancelledError
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - crewai connects in one
        self._mcp_calls.add(task)
        task.add_done_callback(self._mcp_calls.discard)

    def _put(self, item: RunItem) -> None:
        with suppress(RuntimeError):  # the server's loop is closed
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)

    async def _run(self) -> None:
        if self.is_over:  # it was cancelled before it started
            return
        try:
            with own_crew_bases():
                ended = Ended(await self._work(self))
        except asyncio.CancelledError:
            ended = Ended(error=RuntimeError("the run was cancelled"))
        except BaseException as error:  # sys.exit() in an agent must not end the server
            ended = Ended(error=error)
            if not isinstance(error, Exception):  # crewai does not say that a kickoff ended so
                _release_all(self, threads=True)
        finally:
            _release_all(self, threads=False)
        self._put(ended)


@dataclass(frozen=True, slots=True)
class _Kickoff:
    """The work of a run, in a thread, with a crew and its parts."""

    run: CrewRun
    crew: Crew
    parts: frozenset[int]
    thread: int


_kickoffs: list[_Kickoff] = []
"""The kickoffs that go on now."""

_changing_kickoffs = threading.Lock()


def _claim(crew: Crew, run: CrewRun) -> None:
    """Refuse to kick off a crew of which another run works with a part.

    Methods of a flow may share it. Its kickoff would write this run's inputs into tasks that the
    other run has not begun.

    Raises:
        TargetError: Another run works with a part of it.
    """
    parts = frozenset(map(id, parts_of(crew)))
    with _changing_kickoffs:
        if any(each.run is not run and each.parts & parts for each in _kickoffs):
            raise TargetError(
                "this crew, or an agent of it, is working for another caller: create crews, their "
                "tasks and agents in the method that kicks them off"
            )
        _kickoffs.append(_Kickoff(run, crew, parts, threading.get_ident()))


def _release(run: CrewRun, crew: Crew) -> None:
    """End a run's last kickoff of a crew."""
    with _changing_kickoffs:
        for at, each in reversed([*enumerate(_kickoffs)]):
            if each.run is run and each.crew is crew:
                del _kickoffs[at]
                return


def _release_all(run: CrewRun, *, threads: bool) -> None:
    """End a run's kickoffs in the current thread or, if there can be none any more, in all threads.

    Code in other threads goes on for a while when its run has been cancelled or has failed.
    """
    with _changing_kickoffs:
        _kickoffs[:] = [
            each
            for each in _kickoffs
            if each.run is not run or not (threads or each.thread == threading.get_ident())
        ]


@functools.cache
def refuse_calls_after_runs() -> None:
    """Register hooks, once per process, that stop the threads of runs that are over.

    Cancelling a run's task does not reach its code in threads. That code meets these hooks before
    its next model or tool call. Calls outside of served runs are not affected.
    """
    register_before_llm_call_hook(_allow)
    register_before_tool_call_hook(_allow)


def _allow(_: Any) -> bool | None:
    """Return False, which stops a call, if the run it belongs to is over."""
    run = current_run.get()
    if run is None or not run.is_over:
        return None
    logger.warning("a thread of task %s was still running after its end; stopped", run.task_id)
    return False
