"""Writes live tasks to the task store."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from a2a.auth.user import User
from a2a.server.cluster.task_store import LegacyTaskStoreAdapter, VersionedTaskStore
from a2a.server.cluster.version import TaskVersion

from a2a_adapters.runtime.store import MemoryTaskStore

if TYPE_CHECKING:
    from a2a.server.cluster.task_store import StoredTask
    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event
    from a2a.server.tasks import TaskStore
    from a2a.types import ListTasksRequest, ListTasksResponse, Task

SAVE_INTERVAL = 1.0
"""Seconds within which chunks of artifacts are saved together."""


class Journal:
    """The task store, whichever of a2a-sdk's two interfaces it has.

    Args:
        store: Where tasks are kept.
        namespace: What the owners of tasks are told apart by, beyond their names.
    """

    def __init__(self, store: TaskStore | VersionedTaskStore, namespace: str = "") -> None:
        self._namespace = namespace
        self._memory = store if isinstance(store, MemoryTaskStore) else None
        self._store = (
            store if isinstance(store, VersionedTaskStore) else LegacyTaskStoreAdapter(store)
        )

    async def load(self, task_id: str, context: ServerCallContext) -> StoredTask | None:
        """Return the caller's task, or None if the caller has no such task."""
        return await self._store.get(task_id, self._within(context))

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """Return a page of the caller's tasks."""
        return await self._store.list(params, self._within(context))

    def page(self, context: ServerCallContext, stored: StoredTask | None = None) -> Page:
        """Return where one task's states are written."""
        if self._memory is not None:
            return MemoryPage(self._memory, self._within(context).user.user_name)
        version = stored.version if stored else TaskVersion.MISSING
        return StoredPage(self._store, self._within(context), version)

    def _within(self, context: ServerCallContext) -> ServerCallContext:
        if not self._namespace:
            return context
        return context.model_copy(update={"user": _Owner(context.user, self._namespace)})


class _Owner(User):
    """A user as the owner of tasks of one agent among several."""

    def __init__(self, user: User, namespace: str) -> None:
        self._user = user
        self._namespace = namespace

    @property
    def is_authenticated(self) -> bool:
        return self._user.is_authenticated

    @property
    def user_name(self) -> str:
        return f"{self._namespace}/{self._user.user_name}"


class Page(ABC):
    """The place of one task in the journal."""

    is_dirty = False
    """Whether there are changes that were not saved yet."""

    @abstractmethod
    def is_due(self) -> bool:
        """Tell whether changes have waited long enough to be saved."""

    @abstractmethod
    async def save(self, task: Task, event: Event | None) -> None:
        """Write the task as it is now; `event` is what changed it."""


class MemoryPage(Page):
    """A place in the memory store, which holds the live task itself."""

    def __init__(self, store: MemoryTaskStore, owner: str) -> None:
        self._store = store
        self._owner = owner

    def is_due(self) -> bool:
        """Never: changes of the live task are in the store at once."""
        return False

    async def save(self, task: Task, event: Event | None) -> None:  # noqa: ARG002
        """Put the task into the store."""
        self.is_dirty = False
        self._store.put(task, self._owner)


class StoredPage(Page):
    """A place in a store that takes its time, so saves come one after the other."""

    def __init__(
        self, store: VersionedTaskStore, context: ServerCallContext, version: TaskVersion
    ) -> None:
        self._store = store
        self._context = context
        self._version = version
        self._lock = asyncio.Lock()
        self._saved_at = 0.0

    def is_due(self) -> bool:
        """Tell whether `SAVE_INTERVAL` has passed since the last save."""
        return time.monotonic() - self._saved_at > SAVE_INTERVAL

    async def save(self, task: Task, event: Event | None) -> None:
        """Write the task, under the version it was read at.

        A cancelled caller does not stop the write: the version it results in must be known.
        """
        self.is_dirty = True
        await asyncio.shield(self._write(task, event))

    async def _write(self, task: Task, event: Event | None) -> None:
        async with self._lock:
            if event is None and not self.is_dirty:
                return  # an earlier writer has saved this as well
            self._saved_at = time.monotonic()
            self._version = await self._store.save(
                task,
                event=event,
                prev=None,
                prev_version=self._version,
                context=self._context,
            )
            self.is_dirty = False
