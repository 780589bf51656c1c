"""One message on its way through an adapter, and runs that wait for their caller's answer."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from a2a_adapters.concurrency import Background
from a2a_adapters.contract.events import ToolCall, ToolResult
from a2a_adapters.executor.earlier import questions_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine

    from a2a.types import Task

    from a2a_adapters.concurrency.outliving import TaskCalls
    from a2a_adapters.contract.adapter import AgentRequest, CancelFlag
    from a2a_adapters.contract.events import AgentEvent, ProgressEvent
    from a2a_adapters.executor.conversations import ConversationTurn
    from a2a_adapters.executor.earlier import CutOff
    from a2a_adapters.executor.writer import TaskWriter, TextQueue

AdapterEvents: TypeAlias = "AsyncGenerator[AgentEvent, AgentRequest | None]"
"""What `Adapter.stream` returns."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Run:
    """One execution: a message being answered."""

    request: AgentRequest
    writer: TaskWriter
    calls: TaskCalls
    queue: TextQueue | None
    task: asyncio.Task[object] | None
    number: int = 0
    """Which of its task's messages it answers."""
    turn: ConversationTurn | None = None
    """Its conversation, while it has that for itself, and its slot."""
    events: AdapterEvents | None = None
    cut_off: CutOff | None = None
    """What a process that is gone has left of it."""
    is_too_late: bool = False
    """Whether it answers a question to which no answer can be taken any more."""
    is_unowned: bool = False
    """Whether it answers a question whose answer any process can take, and go on with."""
    answers_parked: bool = False
    is_awaited_at_once: bool = False
    """Whether the caller wants the task as soon as there is one (`returnImmediately`)."""
    parked: bool = False
    tool_calls: dict[str, str] = field(default_factory=dict)
    """The names of the tool calls that were reported and have no result yet, by their ids."""
    has_failed: bool = False
    """Whether its task has, though the agent may not have noticed."""
    outlives: bool = False
    """Whether the agent was stopped and goes on."""

    def leave(self) -> None:
        """Tell its code to end, and to write nothing more: the conversation is another's now."""
        self.request.cancelled.set()
        self.request.cancelled.left_behind = True

    def note(self, event: ProgressEvent) -> None:
        """Keep track of the tool calls that have no result yet."""
        if isinstance(event, ToolCall):
            self.tool_calls[event.id] = event.name
        elif isinstance(event, ToolResult):
            self.tool_calls.pop(event.id, None)

    async def fail_calls(self, report: Callable[[Run, ToolResult], Awaitable[None]]) -> None:
        """Report the tool calls without a result as failed: one of them has ended the run."""
        for call_id, name in tuple(self.tool_calls.items()):
            with suppress(Exception):  # the user's `redact` may raise, and the task has to end
                await report(self, ToolResult(call_id, name, is_error=True))


@dataclass(frozen=True, slots=True)
class ParkedRun:
    """A generator that waits at `answer = yield InputRequired(...)`."""

    events: AdapterEvents
    cancelled: CancelFlag
    calls: TaskCalls
    number: int
    """How many questions its task had asked before the one that it waits at."""
    tool_calls: dict[str, str]
    """Its tool calls without a result, see `Run`."""
    expiry: asyncio.TimerHandle


class ParkedRuns:
    """All of them, by task, each for so many seconds at most.

    The user's code may do what it likes when its generator is closed. That happens in the
    background: it can neither keep a task from ending nor a caller waiting.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._by_task: dict[str, ParkedRun] = {}
        self._background = Background()

    def park(self, run: Run) -> None:
        """Keep a run that has just asked until its answer comes, or the time is up."""
        assert run.events is not None  # noqa: S101 - it has just yielded the question
        request = run.request
        expiry = asyncio.get_running_loop().call_later(self._seconds, self.drop, request.task_id)
        self._by_task[request.task_id] = ParkedRun(
            run.events, request.cancelled, run.calls, run.number, run.tool_calls, expiry
        )
        run.parked = True

    def take(self, task_id: str) -> ParkedRun | None:
        """Return a task's run, which is no longer parked then."""
        if parked := self._by_task.pop(task_id, None):
            parked.expiry.cancel()
        return parked

    def drop_outdated(self, task: Task) -> None:
        """Close a task's run unless it waits at the task's latest question.

        Another process has taken an answer that such a run has never got.
        """
        parked = self._by_task.get(task.id)
        if parked and parked.number != questions_of(task) - 1:
            self.drop(task.id)

    def drop(self, task_id: str) -> None:
        """Close a task's run, if it has one here."""
        if parked := self.take(task_id):
            parked.cancelled.set()
            self.in_background(_close(parked))

    def in_background(self, work: Coroutine[object, object, None]) -> None:
        """Do something that nobody waits for; its failure is logged."""
        self._background.begin(work).add_done_callback(_tell)

    async def aclose(self, timeout: float) -> None:  # noqa: ASYNC109 - a bound, not a deadline
        """Close every run, and wait for that so long."""
        for task_id in list(self._by_task):
            self.drop(task_id)
        if left := await self._background.wait(timeout):
            logger.error("%d waiting run(s) do not end, left behind", left)


def _tell(ended: asyncio.Task[None]) -> None:
    if not ended.cancelled() and (error := ended.exception()) is not None:
        logger.error("a waiting run did not end as it should", exc_info=error)


async def _close(parked: ParkedRun) -> None:
    await parked.events.aclose()
    parked.calls.end()
