"""The task store in memory, which is bounded."""

from __future__ import annotations

import time
from bisect import bisect_left, insort
from collections import OrderedDict
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, TypeAlias

from a2a.server.tasks import TaskStore
from a2a.types import ListTasksResponse, Task, TaskState
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import InvalidParamsError
from a2a.utils.task import (
    ListTasksCursor,
    decode_list_tasks_cursor,
    decode_page_token,
    encode_list_tasks_cursor,
)

from a2a_adapters.concurrency.threads import LARGE_BYTES
from a2a_adapters.protocol import states
from a2a_adapters.protocol.generation import drafted, set_drafted
from a2a_adapters.storage.journal import Page, PagedStore
from a2a_adapters.storage.quota import Quota, memory_size, task_size

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    from a2a.server.cluster.task_store import StoredTask
    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event
    from a2a.types import ListTasksRequest

    from a2a_adapters.contract.limits import Limits
    from a2a_adapters.storage.interface import State


_PAGE_BYTES = 8 * 1024 * 1024


class MemoryTaskStore(TaskStore, PagedStore):
    """Keeps tasks in memory; forgets finished ones after a time, above a count and a size.

    It holds unfinished and large tasks themselves: do not change the returned tasks.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._owners: dict[str, TaskIndex] = {}
        self._finished: OrderedDict[str, tuple[float, str, int]] = OrderedDict()
        self._quota = Quota(limits.finished_bytes)

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Store a task."""
        self.put(task, context.user.user_name)

    def page(self, owner: str, stored: StoredTask | None) -> Page:  # noqa: ARG002
        """Return the page of an owner's task."""
        return MemoryPage(self, owner)

    def put(self, task: Task, owner: str) -> None:
        """Store a task (the runtime's fast path for `save`)."""
        index = self._owners.get(owner)
        if index is None:
            index = self._owners[owner] = TaskIndex()
        task_id = task.id
        index.put(task_id, task)
        if task.status.state in states.TERMINAL and task_id not in self._finished:
            size = memory_size(task)
            self._finished[task_id] = (time.monotonic(), owner, size)
            is_too_much = self._quota.take(owner, size)
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
        """Delete the caller's task."""
        self._forget(task_id, context.user.user_name)

    def _forget_old(self, owner: str) -> None:
        self._forget_old_of_all()
        if self._quota.is_full_for(owner):
            self._forget_old_of(owner)

    def _forget_old_of_all(self) -> None:
        oldest_kept = time.monotonic() - self._limits.finished_seconds
        while self._finished:
            task_id, (finished_at, owner, _) = next(iter(self._finished.items()))
            too_many = len(self._finished) > self._limits.finished_tasks
            too_many = too_many or self._quota.taken > self._quota.limit
            if finished_at >= oldest_kept and not too_many:
                return
            self._forget(task_id, owner)

    def _forget_old_of(self, owner: str) -> None:
        own = [task_id for task_id, entry in self._finished.items() if entry[1] == owner]
        for task_id in own:
            if not self._quota.is_full_for(owner):
                return
            self._forget(task_id, owner)

    def _forget(self, task_id: str, owner: str) -> None:
        if finished := self._finished.pop(task_id, None):
            self._quota.take(owner, -finished[2])
        if (index := self._owners.get(owner)) is None:
            return
        index.remove(task_id)
        if not len(index):
            del self._owners[owner]


class MemoryPage(Page):
    """A page in the memory store, which holds the live task itself."""

    def __init__(self, store: MemoryTaskStore, owner: str) -> None:
        self._store = store
        self._owner = owner

    def mark(self, save: Callable[[], Awaitable[None]]) -> None:  # noqa: ARG002
        """Note that the task has changed."""
        self.is_dirty = True

    async def save(
        self,
        task: Task,
        event: Event | None,  # noqa: ARG002
        receivers: Collection[str] = (),  # noqa: ARG002
        kept: Collection[State] = (),  # noqa: ARG002
    ) -> int:
        """Put the task into the store."""
        self.is_dirty = False
        self._store.put(task, self._owner)
        return 0


def _fitting(tasks: Sequence[Task]) -> int:
    """Return how many tasks fit on one page: at least one, and no more than `_PAGE_BYTES`."""
    # Lazily: the size of a task takes as long as encoding it.
    sizes = takewhile(lambda size: size <= _PAGE_BYTES, accumulate(t.ByteSize() for t in tasks))
    return max(1, sum(1 for _ in sizes))


def _show(task: Task, page: ListTasksResponse, *, artifacts: bool) -> None:
    """Add a task to a page. Artifacts may be large: unless shown, they are not copied."""
    if artifacts or not task.artifacts:
        page.tasks.append(task)
        return
    shown = page.tasks.add(
        id=task.id,
        context_id=task.context_id,
        status=task.status,
        history=task.history,
        metadata=task.metadata if task.HasField("metadata") else None,
    )
    if (generation := drafted(task)) is not None:
        set_drafted(shown, generation)


_Place: TypeAlias = "tuple[bool, int, str, TaskState]"
"""Sort key of a task: whether it has a time, the nanoseconds, the id; then its state."""


class TaskIndex:
    """Keeps tasks sorted by time, in total and by context, so that a page is a slice.

    Tasks are sorted in when they are next listed: most never are.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Task | bytes] = {}
        self._moved: dict[str, None] = {}
        self._places: dict[str, tuple[_Place, str]] = {}
        self._all: list[_Place] = []
        self._by_context: dict[str, list[_Place]] = {}

    def put(self, task_id: str, task: Task) -> None:
        """Add a task, or note that its status has changed.

        A small terminal task is kept as bytes: a quarter of the size. All maps share its id.
        """
        is_going_on = task.status.state not in states.TERMINAL
        if is_going_on or task_size(task) > LARGE_BYTES:
            self._kept[task_id] = task
        else:
            self._kept.pop(task_id, None)
            self._moved.pop(task_id, None)
            self._kept[task_id] = task.SerializeToString()
        self._moved[task_id] = None

    def get(self, task_id: str) -> Task | None:
        """Return a task, or None."""
        kept = self._kept.get(task_id)
        return Task.FromString(kept) if isinstance(kept, bytes) else kept

    def __len__(self) -> int:
        return len(self._kept)

    def _put_in_place(self, task: Task) -> None:
        place = _place(task)
        found = self._places.get(task.id)
        if found == (place, task.context_id):
            return
        if found is not None:
            self._remove(*found)
        self._places[task.id] = (place, task.context_id)
        insort(self._all, place)
        insort(self._by_context.setdefault(task.context_id, []), place)

    def remove(self, task_id: str) -> None:
        """Remove a task."""
        self._kept.pop(task_id, None)
        self._moved.pop(task_id, None)
        if (found := self._places.pop(task_id, None)) is not None:
            self._remove(*found)

    def page(self, params: ListTasksRequest, size: int) -> tuple[list[Task], str | None, int]:
        """Return a page of tasks, newest first, the next page's token, and the total.

        Order and tokens are those of a2a-sdk's stores.

        Raises:
            InvalidParamsError: The page token is unknown.
        """
        for task_id in self._moved:
            if (task := self.get(task_id)) is not None:
                self._put_in_place(task)
        self._moved.clear()
        places = self._selected(params)
        end = self._end(places, params.page_token) if params.page_token else len(places)
        shown = places[max(0, end - size) : end][::-1]
        token = encode_list_tasks_cursor(_cursor(shown[-1])) if end > size else None
        tasks = [task for place in shown if (task := self.get(place[2])) is not None]
        return tasks, token, len(places)

    def _selected(self, params: ListTasksRequest) -> list[_Place]:
        places = self._all
        if params.context_id:
            places = self._by_context.get(params.context_id, [])
        if params.HasField("status_timestamp_after"):
            after = (True, params.status_timestamp_after.ToNanoseconds(), "")
            places = places[bisect_left(places, after) :]
        if params.status:
            places = [place for place in places if place[3] == params.status]
        return places

    def _end(self, places: list[_Place], token: str) -> int:
        """Return the number of places before the page of a token; pages go backwards."""
        if (cursor := decode_list_tasks_cursor(token)) is not None:
            return bisect_left(places, cursor.sort_key())
        found = self._places.get(decode_page_token(token))
        end = bisect_left(places, found[0]) + 1 if found else 0
        if found is None or places[end - 1 : end] != [found[0]]:
            raise InvalidParamsError("the page token names no task of this list")
        return end

    def _remove(self, place: _Place, context_id: str) -> None:
        of_context = self._by_context[context_id]
        for places in (self._all, of_context):
            del places[bisect_left(places, place)]
        if not of_context:
            del self._by_context[context_id]


def _place(task: Task) -> _Place:
    status = task.status
    if not status.HasField("timestamp"):
        return (False, 0, task.id, status.state)
    time = status.timestamp
    return (True, time.seconds * 1_000_000_000 + time.nanos, task.id, status.state)


def _cursor(place: _Place) -> ListTasksCursor:
    has_time, nanoseconds, task_id, _ = place
    return ListTasksCursor(timestamp_ns=nanoseconds if has_time else None, task_id=task_id)
