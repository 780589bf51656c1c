"""The tasks of all callers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from a2a_adapters.dialects import Room
from a2a_adapters_omniroute.serving.refusals import TASK_NOT_FOUND, RefusedError

if TYPE_CHECKING:
    from a2a_adapters_omniroute.serving.dialect import OmniRouteDialect
    from a2a_adapters_omniroute.serving.task import DialectTask


_NOTHING = b"{}"


class DialectTasks:
    """Stores tasks in memory and expires finished ones.

    Args:
        dialect: Limits of retention, number and size.
    """

    def __init__(self, dialect: OmniRouteDialect) -> None:
        self._dialect = dialect
        self._by_id: dict[str, DialectTask] = {}
        self._ended: dict[str, float] = {}
        self._room = Room(dialect.task_bytes)
        self._sizes: dict[str, int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, task: DialectTask) -> None:
        """Add a task, dropping the oldest finished one at the limit."""
        if len(self._by_id) >= self._dialect.tasks and self._ended:
            self._forget(next(iter(self._ended)))
        self._by_id[task.id] = task
        self._weigh(task)
        if not self._room.has(task.owner):
            task.input = _NOTHING
            self._weigh(task)

    def find(self, task_id: str, owner: str) -> DialectTask:
        """Return the caller's task.

        Raises:
            RefusedError: The task is unknown to the caller.
        """
        task = self._by_id.get(task_id)
        if task is None or task.owner != owner:
            raise RefusedError(TASK_NOT_FOUND, f"Task not found: {task_id[:100]}")
        return task

    def has_ended(self, task: DialectTask) -> None:
        """Schedule the expiry of a finished task; drop what exceeds the limits."""
        self._ended[task.id] = asyncio.get_running_loop().time() + self._dialect.finished_seconds
        if self._timer is None:
            self._wait()
        self._weigh(task)

    def _weigh(self, task: DialectTask) -> None:
        """Update the size of a task, and drop the oldest finished tasks above the limit."""
        owner, size = task.owner, task.size
        self._room.take(owner, size - self._sizes.get(task.id, 0))
        self._sizes[task.id] = size
        if self._room.has(owner):
            return
        for task_id in list(self._ended):
            is_own = self._by_id[task_id].owner == owner
            if is_own or not self._room.is_full_for(owner):
                self._forget(task_id)
            if self._room.has(owner):
                return

    def _wait(self) -> None:
        """Start one timer for all tasks, which expire in the order of their ends."""
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(next(iter(self._ended.values())), self._forget_old)

    def _forget_old(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for task_id, due in list(self._ended.items()):
            if due > now:
                break
            self._forget(task_id)
        if self._ended:
            self._wait()

    def _forget(self, task_id: str) -> None:
        task = self._by_id.pop(task_id)
        del self._ended[task_id]
        self._room.take(task.owner, -self._sizes.pop(task_id))
