"""The storage in memory: tasks, pages of their lists, push configs and states. Opens storages."""

from __future__ import annotations

import hashlib
import time
from bisect import bisect_left, insort
from collections import OrderedDict
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, TypeAlias, cast

from a2a.server.cluster.version import TaskVersion
from a2a.server.tasks import PushNotificationConfigStore, TaskStore
from a2a.server.tasks.push_notification_config_store import normalize_push_notification_config
from a2a.types import ListTasksResponse, Task, TaskState
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import InvalidParamsError
from a2a.utils.task import (
    ListTasksCursor,
    decode_list_tasks_cursor,
    decode_page_token,
    encode_list_tasks_cursor,
)

from a2a_adapters.concurrency import BoundedMap
from a2a_adapters.concurrency.threads import LARGE_BYTES
from a2a_adapters.contract.adapter import StateStorage
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.protocol import states
from a2a_adapters.protocol.generation import drafted, set_drafted
from a2a_adapters.storage.interface import REPLY, AgentStorage, State, Storage, UsedMessage
from a2a_adapters.storage.journal import Page, PagedStore
from a2a_adapters.storage.quota import Quota, memory_size, task_size

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    from a2a.server.cluster.task_store import StoredTask
    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event
    from a2a.types import ListTasksRequest, TaskPushNotificationConfig

    from a2a_adapters.contract.limits import Limits

_PROCESS_BYTES = 256 * 2**20


class ProcessStates(StateStorage):
    """Keeps states in this process, and evicts the least recently used.

    Args:
        limits: `conversations` and `history_seconds` bound their number and age.
    """

    url = "memory:"
    agent = ""
    is_durable = False

    def __init__(self, limits: Limits) -> None:
        self._states: BoundedMap[bytes, bytes] = BoundedMap(
            limits.conversations, limits.history_seconds, _PROCESS_BYTES, len
        )

    async def read_state(self, owner: str, context_id: str, kind: str) -> bytes | None:
        """Return the state of this kind; None if there is none."""
        return self._states.get(state_key(owner, context_id, kind))

    async def write_state(self, owner: str, context_id: str, kind: str, body: bytes | None) -> None:
        """Store a state; None deletes it."""
        key = state_key(owner, context_id, kind)
        if body is None:
            self._states.pop(key)
        else:
            self._states[key] = body

    async def swap_state(
        self, owner: str, context_id: str, kind: str, expected: bytes | None, body: bytes
    ) -> bool:
        """Replace a state, unless it is no longer `expected`."""
        key = state_key(owner, context_id, kind)
        if self._states.get(key) not in (expected, body):
            return False
        self._states[key] = body
        return True


def state_key(*texts: str) -> bytes:
    """Return a short key for a caller's texts."""
    return hashlib.sha256(repr(texts).encode()).digest()


class MemoryStorage(Storage):
    """Keeps everything in this process."""

    is_durable = False

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._agents: dict[str, MemoryAgentStorage] = {}

    def of(self, agent: str) -> MemoryAgentStorage:
        """Return the storage of one agent."""
        if agent not in self._agents:
            self._agents[agent] = MemoryAgentStorage(self._limits, agent)
        return self._agents[agent]


class MemoryAgentStorage(ProcessStates, AgentStorage):
    """The storage of one agent."""

    push_configs: MemoryPushStore

    def __init__(self, limits: Limits, agent: str = "") -> None:
        super().__init__(limits)
        self.tasks = MemoryTaskStore(limits)
        self.agent = agent
        self.push_configs = MemoryPushStore(limits.finished_tasks)
        kept = limits.runs + limits.waiting_tasks + limits.finished_tasks
        self._messages: BoundedMap[bytes, bytes] = BoundedMap(kept, limits.finished_seconds)

    async def accept(
        self,
        owner: str,
        message_id: str,
        digest: bytes,
        task: Task,
        config: TaskPushNotificationConfig | None = None,
        *,
        joins: bool = False,  # noqa: ARG002 - there are no other processes
    ) -> UsedMessage | TaskVersion:
        """Note that a message begins a task, unless it began one before."""
        name = state_key(owner, message_id)
        if message_id and (used := self._messages.get(name)) is not None:
            task_id, _, known = used.partition(b"\0")
            return UsedMessage(task_id.decode(), known)
        if message_id:
            self._messages[name] = b"%b\0%b" % (task.id.encode(), digest)
        if config is not None:
            self.push_configs.put(task.id, owner, config)
        return TaskVersion.MISSING

    async def retract(
        self,
        owner: str,
        message_id: str,
        task_id: str,
        reply: bytes | None = None,
        kept: Collection[State] = (),
    ) -> None:
        """Let a message that made no task be sent again, unless it was answered."""
        self.push_configs.discard(task_id, owner)
        for state in kept:
            await self.write_state(*state)
        if not message_id:
            return
        if reply is None:
            self._messages.pop(state_key(owner, message_id))
        else:
            await self.write_state(owner, message_id, REPLY, reply)

    async def reply_to(self, owner: str, message_id: str) -> bytes | None:
        """Return the reply given to `retract`, or None."""
        return await self.read_state(owner, message_id, REPLY)


_PUSH_CONFIG_BYTES = 16 * 1024 * 1024
"""The total size of all configs; one has about 500 bytes."""


class MemoryPushStore(PushNotificationConfigStore):
    """Keeps the configs of a limited number of tasks: those that got a config most recently.

    A dropped config can no longer be read, but a live task still uses it.
    """

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._sizes: dict[str, int] = {}
        self._bytes = 0
        self._configs: OrderedDict[str, dict[tuple[str, str], TaskPushNotificationConfig]] = (
            OrderedDict()
        )

    async def set_info(
        self,
        task_id: str,
        notification_config: TaskPushNotificationConfig,
        context: ServerCallContext,
    ) -> TaskPushNotificationConfig:
        """Add or replace a config."""
        config = normalize_push_notification_config(task_id, notification_config)
        self.put(task_id, context.user.user_name, config)
        return config

    def put(self, task_id: str, owner: str, config: TaskPushNotificationConfig) -> None:
        """Add or replace a config that has an id."""
        self._configs.setdefault(task_id, {})[owner, config.id] = config
        self._configs.move_to_end(task_id)
        self._count(task_id)
        while len(self._configs) > self._tasks or self._bytes > _PUSH_CONFIG_BYTES:
            oldest = next(iter(self._configs))
            del self._configs[oldest]
            self._count(oldest)

    async def get_info(
        self, task_id: str, context: ServerCallContext
    ) -> list[TaskPushNotificationConfig]:
        """Return the caller's configs of a task."""
        configs = self._configs.get(task_id, {})
        return [c for (owner, _), c in configs.items() if owner == context.user.user_name]

    async def get_info_for_dispatch(self, task_id: str) -> list[TaskPushNotificationConfig]:
        """Return all configs of a task."""
        return list(self._configs.get(task_id, {}).values())

    async def delete_info(
        self, task_id: str, context: ServerCallContext, config_id: str | None = None
    ) -> None:
        """Delete one of the caller's configs of a task, or all."""
        self.discard(task_id, context.user.user_name, config_id)

    def discard(self, task_id: str, owner: str, config_id: str | None = None) -> None:
        """Delete one of an owner's configs of a task, or all."""
        configs = self._configs.get(task_id)
        if configs is None:
            return
        for place in list(configs):
            if place[0] == owner and config_id in (None, place[1]):
                del configs[place]
        if not configs:
            self._configs.pop(task_id, None)
        self._count(task_id)

    def _count(self, task_id: str) -> None:
        size = sum(config.ByteSize() for config in self._configs.get(task_id, {}).values())
        self._bytes += size - self._sizes.pop(task_id, 0)
        if size:
            self._sizes[task_id] = size


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


_MEMORY = ("memory:", "memory")


def open_storage(url: str, limits: Limits, *, bus: str | None = None) -> Storage:
    """Return the storage at a URL; `Storage.start` connects it.

    Args:
        url: `memory:`, or a URL that a plugin knows: `sqlite:///file.db`,
            `postgresql://user:password@host/database`.
        limits: The bounds of memory, and the length of leases.
        bus: The URL of a message bus between processes that share the storage, `redis://...`; by
            default the storage itself.

    Raises:
        ConfigurationError: No plugin knows the URL, or the storage has no bus. The text does not
            contain the URL, which may hold a password.
        MissingExtraError: A driver is not installed.
    """
    if url in _MEMORY:
        if bus is not None:
            raise ConfigurationError("a bus is for processes that share a postgresql: storage")
        return MemoryStorage(limits)
    opened = installed_plugins().storage(url, limits, bus)
    if opened is None:
        raise ConfigurationError(
            f"no plugin opens the storage {url.partition(':')[0]}:, see: a2a-adapters plugins"
        )
    return cast("Storage", opened)
