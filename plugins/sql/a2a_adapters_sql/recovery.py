"""Recovers the tasks of dead processes: resumes them, or fails them with a reason."""

from __future__ import annotations

import asyncio
import logging
import time
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Protocol

from a2a.server.cluster.task_store import ConcurrentTaskModificationError
from a2a.server.context import ServerCallContext

from a2a_adapters.executor.executor import AdapterExecutor
from a2a_adapters.protocol import states
from a2a_adapters.protocol.conversion import answered_question, is_durable
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.protocol.owner import Owner
from a2a_adapters.runtime.interface import Recovery
from a2a_adapters_sql.lease import process_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from a2a.types import Task

    from a2a_adapters.runtime import Runtime
    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters_sql.takeover import LeftTask
    from a2a_adapters_sql.tasks import SqlTaskStore

_STOPPED = "The server was stopped while it worked on this task; please start a new one."
_STOPPED_AGAIN = "The server was stopped each time it worked on this task; please start a new one."
_COMES_FIRST = (
    "A dead process has left a task of this conversation that cannot be resumed yet; "
    "try again later"
)
_NO_LONGER_WAITING = (
    "The agent was restarted and no longer waits for an answer; please start a new task."
)

_MOST_TAKEOVERS = 30
"""A task may crash its processes, even before it has any effect."""

logger = logging.getLogger(__name__)


class Orphans(Protocol):
    """The tasks of dead processes in the storage of an agent."""

    tasks: SqlTaskStore

    async def left_behind(self) -> Sequence[LeftTask]:
        """Take over the unfinished tasks of dead processes."""

    @property
    def has_left_behind(self) -> bool:
        """Whether tasks may have been taken over that `left_behind` has not returned."""


class OrphanRecovery(Recovery):
    """Takes over the tasks of dead processes. Any process may do so, at any time.

    Args:
        storage: Finds them.
        runtime: Resumes or fails them.
    """

    def __init__(self, storage: Orphans, runtime: Runtime) -> None:
        executor = runtime.executor
        self._storage = storage
        self._figures = runtime.figures
        self._live = runtime.live
        self._messages = runtime.messages
        self._executor = executor if isinstance(executor, AdapterExecutor) else None
        self._limits = runtime.limits
        self._left: dict[tuple[str, str], LeftTask] = {}
        """Tasks that were taken over, and are not recovered yet."""
        self._sweeping = asyncio.Lock()
        self._variables: Context | None = None

    async def sweep(self) -> None:
        """Resume orphaned tasks; fail those that cannot be resumed or have waited too long.

        Every sweep has the context variables of the first one, at the start of the server: resumed
        runs must not inherit those of a caller whose request triggers a later sweep.
        """
        if self._variables is None:
            self._variables = copy_context()
        await asyncio.create_task(self._sweep_alone(), context=self._variables.copy())

    async def _sweep_alone(self) -> None:
        async with self._sweeping:  # else two sweeps would resume the same task
            if not self._messages.is_closed:  # tasks taken now would be orphaned at once
                await self._sweep()

    async def recover(self, live: LiveTask) -> None:
        """Sweep if the context of a task has orphaned tasks, which come first.

        Raises:
            StorageUnavailableError: They cannot be recovered yet.
        """
        if self._storage.has_left_behind or (self._left and self._has_left(live)):
            await self.sweep()
            if self._has_left(live):
                raise StorageUnavailableError(_COMES_FIRST)

    def _has_left(self, live: LiveTask) -> bool:
        """Return whether the context has tasks waiting for recovery."""
        left = ((left.owner, left.stored.task.context_id) for left in self._left.values())
        return (live.owner, live.context_id) in left

    async def _sweep(self) -> None:
        is_outdated = self._storage.has_left_behind
        taken = await self._take()
        if is_outdated:  # the caller of that sweep was cancelled: there may be more since
            taken |= await self._take()
        for live in self._live.all() if taken else ():
            if live.runs and (live.owner, live.task_id) in taken:
                self.lose(live)  # an operator took it; the new run needs its turn
        found = sorted(self._left.values(), key=_order)
        resumed = [left for left in found if self._can_resume(left)]
        ended = [left for left in found if not self._can_resume(left)]
        for left in resumed:
            await self._settle(left, self._resume)
        late = await self._storage.tasks.waiting_since(time.time() - self._limits.input_seconds)
        ending = [self._settle(left, self._end) for left in ended]
        ending += [self._live.end_late(left.owner, left.stored) for left in late]
        for outcome in await asyncio.gather(*ending, return_exceptions=True):
            if isinstance(outcome, BaseException):
                logger.error("an orphaned task could not be ended", exc_info=outcome)
        self._figures.waiting = await self._storage.tasks.count_waiting()

    async def _take(self) -> dict[tuple[str, str], LeftTask]:
        """Take over orphaned tasks; they are remembered until they are settled."""
        left_behind = await self._storage.left_behind()
        taken = {(left.owner, left.stored.task.id): left for left in left_behind}
        self._left.update(taken)
        return taken

    async def _settle(self, left: LeftTask, settle: Callable[[LeftTask], Awaitable[None]]) -> None:
        """Resume or end a task; if that fails, the next sweep tries again."""
        try:
            await settle(left)
        except ConcurrentTaskModificationError:  # it is another process's now
            pass
        except Exception:
            if not self._messages.is_closed:  # else the next process does
                logger.exception("an orphaned task cannot be recovered yet")
            return
        self._left.pop((left.owner, left.stored.task.id), None)

    def lose(self, live: LiveTask) -> None:
        """Stop the work on a task that another process has taken."""
        logger.warning("task %s was taken from this process; its work stops here", live.task_id)
        if self._executor is not None:
            self._executor.leave(live.task_id)
        self._messages.lose(live)
        self._figures.lost_tasks += 1

    def leave(self, live: LiveTask) -> bool:
        """Leave an unfinished task to the next process; return whether that can resume it."""
        task = live.task
        if self._executor is None or task is None:
            return False
        if not self._is_resumable(task):
            return False
        self._executor.leave(live.task_id)
        self._messages.hand_over(live)
        return True

    def _can_resume(self, left: LeftTask) -> bool:
        return not self._ends_processes(left) and self._is_resumable(left.stored.task)

    def _is_resumable(self, task: Task) -> bool:
        if self._executor is None or not self._executor.adapter.resumes:
            return False
        if task.status.state not in states.ACTIVE:
            return False
        question = answered_question(task)
        return question is None or is_durable(question)

    async def _resume(self, left: LeftTask) -> None:
        live = await self._live.adopt(left.owner, left.stored)
        try:
            await self._messages.resume(live)
        except BaseException:
            self._live.release(live)
            raise
        self._report(left, "resumed")

    async def _end(self, left: LeftTask) -> None:
        task = left.stored.task
        if task.status.state == states.UNSPECIFIED:  # it was never announced
            context = ServerCallContext(user=Owner(left.owner))
            await self._storage.tasks.delete(task.id, context)
            return
        live = await self._live.adopt(left.owner, left.stored)
        self._report(left, "ended")
        try:
            await live.set_state(states.FAILED, self._reason(left))
        finally:
            self._live.release(live)

    def _report(self, left: LeftTask, outcome: str) -> None:
        """Count and log a takeover."""
        self._figures.takeovers[outcome] += 1
        task_id, owned_by, taken_by = left.stored.task.id, left.process, process_name()
        logger.warning(
            "task %s of process %s was %s by process %s",
            task_id,
            owned_by or "(unknown)",
            outcome,
            taken_by,
            extra={"task_id": task_id, "owned_by": owned_by, "taken_by": taken_by},
        )

    def _reason(self, left: LeftTask) -> str:
        if left.stored.task.status.state in states.INTERRUPTED:
            return _NO_LONGER_WAITING
        return _STOPPED_AGAIN if self._ends_processes(left) else _STOPPED

    def _ends_processes(self, left: LeftTask) -> bool:
        """Whether a task may be crashing the processes that work on it."""
        has_failed = left.attempts >= self._limits.recovery_attempts
        return has_failed or left.takeovers > _MOST_TAKEOVERS


def _order(left: LeftTask) -> tuple[bool, int]:
    """Return a key that sorts a context's tasks by arrival: only the first can have begun."""
    status = left.stored.task.status
    return status.state != states.WORKING, status.timestamp.ToNanoseconds()
