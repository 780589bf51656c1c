"""A message in the executor while its adapter answers it, and answers that wait for a reply."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from a2a_adapters.concurrency import Background
from a2a_adapters.contract.events import ToolCall, ToolResult
from a2a_adapters.executor.earlier import questions_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine

    from a2a.types import Task

    from a2a_adapters.concurrency.threads import TaskCalls
    from a2a_adapters.contract.adapter import AgentRequest, CancelFlag
    from a2a_adapters.contract.events import AgentEvent, ProgressEvent
    from a2a_adapters.executor.earlier import CutOff
    from a2a_adapters.executor.turns import Turn
    from a2a_adapters.executor.writer import TaskWriter, TextQueue

AdapterEvents: TypeAlias = "AsyncGenerator[AgentEvent, AgentRequest | None]"
"""The generator that `Adapter.stream` returns."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Execution:
    """One execution: a message being answered."""

    request: AgentRequest
    writer: TaskWriter
    calls: TaskCalls
    queue: TextQueue | None
    task: asyncio.Task[object] | None
    number: int = 0
    """The number of the message in its task."""
    turn: Turn | None = None
    """Its turn in the conversation and its slot, while it holds them."""
    events: AdapterEvents | None = None
    cut_off: CutOff | None = None
    """The answer begun by a dead process, if any."""
    is_too_late: bool = False
    """Whether it answers a question whose waiting run is lost."""
    is_unowned: bool = False
    """Whether it answers a question whose answer any process can take."""
    holds: bool = False
    """Whether the answer is held back."""
    held: list[AgentEvent] = field(default_factory=list)
    """The part of the answer that is held back."""
    answers_parked: bool = False
    is_awaited_at_once: bool = False
    """Whether the caller wants the task as soon as it exists (`returnImmediately`)."""
    parked: bool = False
    tool_calls: dict[str, str] = field(default_factory=dict)
    """The names of unfinished tool calls, by id."""
    has_failed: bool = False
    """Whether its task has failed, though the agent may still run."""
    outlives: bool = False
    """Whether the agent was stopped and still runs."""

    def leave(self) -> None:
        """Ask the code to end without writing: the conversation is taken."""
        self.request.cancelled.set()
        self.request.cancelled.left_behind = True

    def note(self, event: ProgressEvent) -> None:
        """Keep track of unfinished tool calls."""
        if isinstance(event, ToolCall):
            self.tool_calls[event.id] = event.name
        elif isinstance(event, ToolResult):
            self.tool_calls.pop(event.id, None)

    async def fail_calls(self, report: Callable[[Execution, ToolResult], Awaitable[None]]) -> None:
        """Report unfinished tool calls as failed: one of them has ended the run."""
        for call_id, name in tuple(self.tool_calls.items()):
            with suppress(Exception):  # `redact` may raise, but the task has to end
                await report(self, ToolResult(call_id, name, is_error=True))


@dataclass(frozen=True, slots=True)
class ParkedRun:
    """A generator that waits at `answer = yield InputRequired(...)`."""

    events: AdapterEvents
    cancelled: CancelFlag
    calls: TaskCalls
    number: int
    """Number of earlier questions of its task."""
    tool_calls: dict[str, str]
    """Its unfinished tool calls, see `Execution`."""
    expiry: asyncio.TimerHandle


class ParkedRuns:
    """The parked runs by task, each for a limited time.

    Their generators are closed in the background: the user's code can delay neither the end of a
    task nor a caller.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._by_task: dict[str, ParkedRun] = {}
        self._background = Background()

    def park(self, run: Execution) -> None:
        """Keep a run that has just asked until its answer comes, or the time is up."""
        assert run.events is not None  # noqa: S101 - it has just yielded the question
        request = run.request
        expiry = asyncio.get_running_loop().call_later(
            self._seconds, self.drop, request.task_id, context=Context()
        )  # the current one holds the request
        self._by_task[request.task_id] = ParkedRun(
            run.events, request.cancelled, run.calls, run.number, run.tool_calls, expiry
        )
        run.parked = True

    def take(self, task_id: str) -> ParkedRun | None:
        """Remove and return a task's run."""
        if parked := self._by_task.pop(task_id, None):
            parked.expiry.cancel()
        return parked

    def drop_outdated(self, task: Task) -> None:
        """Close a task's run unless it waits at the task's latest question.

        Otherwise another process has taken the answer.
        """
        parked = self._by_task.get(task.id)
        if parked and parked.number != questions_of(task) - 1:
            self.drop(task.id)

    def drop(self, task_id: str) -> None:
        """Close a task's run, if there is one."""
        if parked := self.take(task_id):
            parked.cancelled.set()
            self.in_background(_close(parked))

    def in_background(self, work: Coroutine[object, object, None]) -> None:
        """Run something in the background; its failure is logged."""
        self._background.begin(work).add_done_callback(_log_failure)

    async def aclose(self, timeout: float) -> None:  # noqa: ASYNC109 - a bound, not a deadline
        """Close every run, and wait for that for a limited time."""
        for task_id in list(self._by_task):
            self.drop(task_id)
        if left := await self._background.wait(timeout):
            logger.error("%d parked run(s) did not end; abandoned", left)


def _log_failure(ended: asyncio.Task[None]) -> None:
    if not ended.cancelled() and (error := ended.exception()) is not None:
        logger.error("closing a parked run failed", exc_info=error)


async def _close(parked: ParkedRun) -> None:
    await parked.events.aclose()
    parked.calls.end()
