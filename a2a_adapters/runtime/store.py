"""The default task store: in memory, bounded."""

from __future__ import annotations

import time
from collections import OrderedDict
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING

from a2a.server.tasks import TaskStore
from a2a.types import ListTasksResponse
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE

from a2a_adapters.protocol import states
from a2a_adapters.runtime.listing import TaskIndex
from a2a_adapters.runtime.room import Room
from a2a_adapters.runtime.weight import weight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a.server.context import ServerCallContext
    from a2a.types import ListTasksRequest, Task

    from a2a_adapters.contract.limits import Limits


_PAGE_BYTES = 8 * 1024 * 1024


class MemoryTaskStore(TaskStore):
    """Keeps tasks in memory; forgets finished ones after a time, above a count and a size.

    It holds tasks that go on, and large ones, themselves: what it returns must not be changed.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._owners: dict[str, TaskIndex] = {}
        self._finished: OrderedDict[str, tuple[float, str, int]] = OrderedDict()
        self._room = Room(limits.finished_bytes)

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Store a task."""
        self.put(task, context.user.user_name)

    def put(self, task: Task, owner: str) -> None:
        """Store a task, without the ceremony of `save`: the runtime does so for each state."""
        index = self._owners.get(owner)
        if index is None:
            index = self._owners[owner] = TaskIndex()
        task_id = task.id
        index.put(task_id, task)
        if task.status.state in states.TERMINAL and task_id not in self._finished:
            size = weight(task)
            self._finished[task_id] = (time.monotonic(), owner, size)
            is_too_much = self._room.take(owner, size)
            oldest_at, _, _ = next(iter(self._finished.values()))
            is_old = oldest_at < time.monotonic() - self._limits.finished_seconds
            if is_too_much or is_old or len(self._finished) > self._limits.finished_tasks:
                self._forget_old(owner)

    async def get(self, task_id: str, context: ServerCallContext) -> Task | None:
        """Return the caller's task."""
        index = self._owners.get(context.user.user_name)
        return None if index is None else index.get(task_id)

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """Return a page of the caller's tasks, in the SDK's order and with its page tokens."""
        index = self._owners.get(context.user.user_name) or TaskIndex()
        size = params.page_size or DEFAULT_LIST_TASKS_PAGE_SIZE
        tasks, token, total = index.page(params, size)
        if (fitting := _fitting(tasks)) < len(tasks):
            size = fitting
            tasks, token, total = index.page(params, size)
        page = ListTasksResponse(next_page_token=token, total_size=total, page_size=size)
        for task in tasks:
            _show(task, page, artifacts=params.include_artifacts)
        return page

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Forget the caller's task."""
        self._forget(task_id, context.user.user_name)

    def _forget_old(self, owner: str) -> None:
        self._forget_old_of_all()
        if self._room.is_full_for(owner):
            self._forget_old_of(owner)

    def _forget_old_of_all(self) -> None:
        oldest_kept = time.monotonic() - self._limits.finished_seconds
        while self._finished:
            task_id, (finished_at, owner, _) = next(iter(self._finished.items()))
            too_many = len(self._finished) > self._limits.finished_tasks
            too_many = too_many or self._room.taken > self._room.limit
            if finished_at >= oldest_kept and not too_many:
                return
            self._forget(task_id, owner)

    def _forget_old_of(self, owner: str) -> None:
        own = [task_id for task_id, entry in self._finished.items() if entry[1] == owner]
        for task_id in own:
            if not self._room.is_full_for(owner):
                return
            self._forget(task_id, owner)

    def _forget(self, task_id: str, owner: str) -> None:
        if finished := self._finished.pop(task_id, None):
            self._room.take(owner, -finished[2])
        if (index := self._owners.get(owner)) is None:
            return
        index.remove(task_id)
        if not len(index):
            del self._owners[owner]


def _fitting(tasks: Sequence[Task]) -> int:
    """Return how many tasks go on one page: one at least, and as many as are not too large."""
    # As far as it goes only: a size is told by writing the whole task.
    sizes = takewhile(lambda size: size <= _PAGE_BYTES, accumulate(t.ByteSize() for t in tasks))
    return max(1, sum(1 for _ in sizes))


def _show(task: Task, page: ListTasksResponse, *, artifacts: bool) -> None:
    """Add a task to a page. Artifacts may be large: they are not copied to be left out then."""
    if artifacts or not task.artifacts:
        page.tasks.append(task)
        return
    page.tasks.add(
        id=task.id,
        context_id=task.context_id,
        status=task.status,
        history=task.history,
        metadata=task.metadata if task.HasField("metadata") else None,
    )
