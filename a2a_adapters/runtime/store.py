"""The default task store: in memory, bounded."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryTaskStore

from a2a_adapters.runtime.states import TERMINAL

if TYPE_CHECKING:
    from a2a.auth.user import User
    from a2a.types import Task

    from a2a_adapters.limits import Limits


class MemoryTaskStore(InMemoryTaskStore):
    """a2a-sdk's memory store, forgetting finished tasks after a time and above a count.

    It holds the tasks themselves, not copies: what it returns must not be changed.
    """

    def __init__(self, limits: Limits) -> None:
        super().__init__(use_copying=False)
        self._limits = limits
        self._finished: OrderedDict[str, tuple[float, User]] = OrderedDict()

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Store a task."""
        await super().save(task, context)
        if task.status.state in TERMINAL:
            self._finished[task.id] = (time.monotonic(), context.user)
            await self._forget_old()

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Forget a task."""
        self._finished.pop(task_id, None)
        await super().delete(task_id, context)

    async def _forget_old(self) -> None:
        oldest_kept = time.monotonic() - self._limits.finished_seconds
        while self._finished:
            task_id, (finished_at, user) = next(iter(self._finished.items()))
            too_many = len(self._finished) > self._limits.finished_tasks
            if finished_at >= oldest_kept and not too_many:
                return
            await self.delete(task_id, ServerCallContext(user=user))
