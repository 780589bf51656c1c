"""The tasks of all callers: begun, found, forgotten."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from a2a_adapters_omniroute.serving.refusals import TASK_NOT_FOUND, RefusedError

if TYPE_CHECKING:
    from a2a_adapters_omniroute.dialect import OmniRouteDialect
    from a2a_adapters_omniroute.serving.task import DialectTask


class DialectTasks:
    """Keeps tasks in memory, the finished ones for a while.

    Args:
        dialect: For how long, and how many.
    """

    def __init__(self, dialect: OmniRouteDialect) -> None:
        self._dialect = dialect
        self._by_id: dict[str, DialectTask] = {}

    def add(self, task: DialectTask) -> None:
        """Keep a task, in place of the oldest finished one if there are too many."""
        if len(self._by_id) >= self._dialect.tasks:
            oldest = next((t.id for t in self._by_id.values() if t.is_finished), None)
            if oldest is not None:
                del self._by_id[oldest]
        self._by_id[task.id] = task

    def find(self, task_id: str, owner: str) -> DialectTask:
        """Return the caller's task.

        Raises:
            RefusedError: The caller has no such task.
        """
        task = self._by_id.get(task_id)
        if task is None or task.owner != owner:
            raise RefusedError(TASK_NOT_FOUND, f"Task not found: {task_id[:100]}")
        return task

    def forget_later(self, task: DialectTask) -> None:
        """Forget a finished task when its time has come."""
        loop = asyncio.get_running_loop()
        loop.call_later(self._dialect.finished_seconds, self._by_id.pop, task.id, None)
