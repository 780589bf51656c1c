"""The default task store: in memory, bounded."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from a2a.server.tasks import InMemoryTaskStore, TaskStore

from a2a_adapters import states

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from a2a.types import ListTasksRequest, ListTasksResponse, Task

    from a2a_adapters.limits import Limits


class MemoryTaskStore(TaskStore):
    """Keeps tasks in memory; forgets finished ones after a time and above a count.

    It holds the tasks themselves, not copies: what it returns must not be changed.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._tasks: dict[str, dict[str, Task]] = {}
        self._finished: OrderedDict[str, tuple[float, str]] = OrderedDict()

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Store a task."""
        self.put(task, context.user.user_name)

    def put(self, task: Task, owner: str) -> None:
        """Store a task, without the ceremony of `save`: the runtime does so for each state."""
        self._tasks.setdefault(owner, {})[task.id] = task
        if task.status.state in states.TERMINAL:
            self._finished[task.id] = (time.monotonic(), owner)
            self._forget_old()

    async def get(self, task_id: str, context: ServerCallContext) -> Task | None:
        """Return the caller's task."""
        return self._tasks.get(context.user.user_name, {}).get(task_id)

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """Return a page of the caller's tasks, in the SDK's order and with its page tokens."""
        store = InMemoryTaskStore(use_copying=False)
        for task in self._tasks.get(context.user.user_name, {}).values():
            await store.save(task, context)
        return await store.list(params, context)

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Forget the caller's task."""
        self._forget(task_id, context.user.user_name)

    def _forget_old(self) -> None:
        oldest_kept = time.monotonic() - self._limits.finished_seconds
        while self._finished:
            task_id, (finished_at, owner) = next(iter(self._finished.items()))
            too_many = len(self._finished) > self._limits.finished_tasks
            if finished_at >= oldest_kept and not too_many:
                return
            self._forget(task_id, owner)

    def _forget(self, task_id: str, owner: str) -> None:
        self._finished.pop(task_id, None)
        tasks = self._tasks.get(owner, {})
        tasks.pop(task_id, None)
        if not tasks:
            self._tasks.pop(owner, None)
