"""Writes live tasks to the task store."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from a2a.server.cluster.task_store import LegacyTaskStoreAdapter, VersionedTaskStore
from a2a.server.cluster.version import TaskVersion

if TYPE_CHECKING:
    from a2a.server.cluster.task_store import StoredTask
    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event
    from a2a.server.tasks import TaskStore
    from a2a.types import ListTasksRequest, ListTasksResponse, Task

SAVE_INTERVAL = 1.0
"""Seconds within which chunks of artifacts are saved together."""


class Journal:
    """The task store, whichever of a2a-sdk's two interfaces it has."""

    def __init__(self, store: TaskStore | VersionedTaskStore) -> None:
        self._store = (
            store if isinstance(store, VersionedTaskStore) else LegacyTaskStoreAdapter(store)
        )

    async def load(self, task_id: str, context: ServerCallContext) -> StoredTask | None:
        """Return the caller's task, or None if the caller has no such task."""
        return await self._store.get(task_id, context)

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """Return a page of the caller's tasks."""
        return await self._store.list(params, context)

    def page(self, context: ServerCallContext, stored: StoredTask | None = None) -> Page:
        """Return where one task's states are written."""
        version = stored.version if stored else TaskVersion.MISSING
        return Page(self._store, context, version)


class Page:
    """The place of one task in the journal."""

    __slots__ = ("_context", "_lock", "_saved_at", "_store", "_version", "is_dirty")

    def __init__(
        self, store: VersionedTaskStore, context: ServerCallContext, version: TaskVersion
    ) -> None:
        self._store = store
        self._context = context
        self._version = version
        self._lock = asyncio.Lock()
        self._saved_at = 0.0
        self.is_dirty = False

    def is_due(self) -> bool:
        """Tell whether changes have waited long enough to be saved."""
        return time.monotonic() - self._saved_at > SAVE_INTERVAL

    async def save(self, task: Task, event: Event | None) -> None:
        """Write the task as it is now; `event` is what changed it."""
        async with self._lock:
            self._saved_at = time.monotonic()
            self.is_dirty = False
            self._version = await self._store.save(
                task,
                event=event,
                prev=None,
                prev_version=self._version,
                context=self._context,
            )
