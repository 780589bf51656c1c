"""Writes live tasks to the task store."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from a2a.server.cluster.task_store import (
    ConcurrentTaskModificationError,
    LegacyTaskStoreAdapter,
    VersionedTaskStore,
)
from a2a.server.cluster.version import TaskVersion

from a2a_adapters.concurrency import in_background, shielded
from a2a_adapters.protocol.owner import Owner
from a2a_adapters.storage.interface import number_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from a2a.server.cluster.task_store import StoredTask
    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event
    from a2a.server.tasks import TaskStore
    from a2a.types import ListTasksRequest, ListTasksResponse, Task, TaskState

    from a2a_adapters.storage.interface import State

SAVE_INTERVAL = 1.0
"""Seconds within which chunks of artifacts are saved together."""

_PAUSES = (0.1, 0.4, 1.0)
"""Seconds between attempts to save a task in a failing store."""

logger = logging.getLogger(__name__)


class Page(ABC):
    """Saves the states of one task."""

    is_dirty = False
    """Whether there are unsaved changes."""
    is_lost = False
    """Whether another process has the task or its context: nothing more may be published."""
    is_handed_over = False
    """Whether another process will resume the task."""
    keeps_states = False
    """Whether state of the conversation can be saved together with the task."""
    is_known_active = False
    """Whether the task is stored as active, so that another active state need not be saved now."""
    version = TaskVersion.MISSING
    """The version that was saved or read last, if the store has versions."""

    @property
    def is_saving(self) -> bool:
        """Whether a save is under way."""
        return False

    def is_unowned(self, task: Task) -> bool:  # noqa: ARG002
        """Return whether the task waits for an answer that any process can take."""
        return False

    @abstractmethod
    def mark(self, save: Callable[[], Awaitable[None]]) -> None:
        """Note unsaved changes; `save` is called when they are due."""

    @abstractmethod
    async def save(
        self,
        task: Task,
        event: Event | None,
        receivers: Collection[str] = (),
        kept: Collection[State] = (),
    ) -> int:
        """Write the task as it is now.

        Args:
            task: The task.
            event: The cause of the change.
            receivers: The ids of the push notification configs that are owed this state.
            kept: State of the conversation to save with it, if `keeps_states`.

        Returns:
            The version that is owed to the receivers until it is delivered; 0 if none is.
        """

    async def written(self) -> None:  # noqa: B027 - most pages publish before they have saved
        """Wait until the state being saved may be published.

        Raises:
            StorageUnavailableError: It could not be saved in time.
        """

    def accepted(self, version: TaskVersion, state: TaskState) -> None:  # noqa: B027
        """Note that the task was stored with the message that began it."""


class PagedStore:
    """A task store that brings its own pages."""

    knows_owners = False
    """Whether it knows which process works on a task."""

    @abstractmethod
    def page(self, owner: str, stored: StoredTask | None) -> Page:
        """Return the page of an owner's task: a stored one, or a new one."""


class Journal:
    """The task store, behind either of a2a-sdk's two interfaces.

    A namespace prefixes the owners' names, to keep apart agents that share the store.
    """

    def __init__(self, store: TaskStore | VersionedTaskStore, namespace: str = "") -> None:
        self._namespace = namespace
        self._paged = store if isinstance(store, PagedStore) else None
        self._store = (
            store if isinstance(store, VersionedTaskStore) else LegacyTaskStoreAdapter(store)
        )
        self.knows_owners = self._paged is not None and self._paged.knows_owners
        """Whether the store knows which process works on a task."""

    async def load(self, task_id: str, context: ServerCallContext) -> StoredTask | None:
        """Return the caller's task, or None."""
        return await self._store.get(task_id, self._within(context))

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """Return a page of the caller's tasks."""
        return await self._store.list(params, self._within(context))

    def page(self, context: ServerCallContext, stored: StoredTask | None = None) -> Page:
        """Return the page of one task."""
        if self._paged is not None:
            return self._paged.page(self._name_within(context), stored)
        version = stored.version if stored else TaskVersion.MISSING
        return StoredPage(self._store, self._within(context), version)

    def _within(self, context: ServerCallContext) -> ServerCallContext:
        if not self._namespace:
            return context
        return context.model_copy(update={"user": Owner(self._name_within(context))})

    def _name_within(self, context: ServerCallContext) -> str:
        name: str = context.user.user_name
        return f"{self._namespace}/{name}" if self._namespace else name


class StoredPage(Page):
    """A page in a slow store: saves are made one after the other.

    Changes that need not be saved at once are saved together, `SAVE_INTERVAL` after the first.
    """

    def __init__(
        self, store: VersionedTaskStore, context: ServerCallContext, version: TaskVersion
    ) -> None:
        self._store = store
        self._context = context
        self.version = version
        self._lock = asyncio.Lock()
        self._due: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[int] | None = None
        """The latest save, until its caller continues."""

    @property
    def is_saving(self) -> bool:
        """Whether a save is under way."""
        return self._saving is not None and not self._saving.done()

    def mark(self, save: Callable[[], Awaitable[None]]) -> None:
        """Note unsaved changes; `save` is called within `SAVE_INTERVAL`."""
        self.is_dirty = True
        if self._due is None:
            loop = asyncio.get_running_loop()
            self._due = loop.call_later(SAVE_INTERVAL, self._save_due, save)

    def _save_due(self, save: Callable[[], Awaitable[None]]) -> None:
        self._due = None
        if self.is_dirty:
            in_background(self._save_quietly(save))

    async def _save_quietly(self, save: Callable[[], Awaitable[None]]) -> None:
        try:
            await save()
        except Exception as error:  # the next change or the end tries again
            logger.warning("a task could not be saved: %s", type(error).__name__)

    async def save(
        self,
        task: Task,
        event: Event | None,
        receivers: Collection[str] = (),
        kept: Collection[State] = (),
    ) -> int:
        """Write the task, under the version it was read at.

        Cancelling the caller does not stop the write: its resulting version must be known.
        """
        self.is_dirty = True
        owed = receivers if self._owes(task, event) else ()
        self._saving = saving = asyncio.ensure_future(self._write(task, event, owed, kept))
        try:
            return await shielded(saving)
        finally:
            if self._saving is saving and saving.done():
                self._saving = None  # it holds the request

    def _owes(self, task: Task, event: Event | None) -> bool:  # noqa: ARG002
        """Return whether the store remembers that the receivers are owed this state."""
        return False

    async def _write(
        self, task: Task, event: Event | None, receivers: Collection[str], kept: Collection[State]
    ) -> int:
        async with self._lock:
            if event is None and not self.is_dirty:
                return 0  # an earlier writer has saved this as well
            if self.is_lost:  # the store has refused this task
                raise ConcurrentTaskModificationError(task.id)
            self.is_dirty = False
            try:
                self.version = await self._store_task(task, event, receivers, kept)
                if self._due is not None and not self.is_dirty:  # the timer holds the task
                    self._due.cancel()
                    self._due = None
                return number_of(self.version) if receivers else 0
            except ConcurrentTaskModificationError:
                self.is_lost = True
                raise
            except BaseException:
                self.is_dirty = True
                raise

    async def _store_task(
        self,
        task: Task,
        event: Event | None,
        receivers: Collection[str],  # noqa: ARG002
        kept: Collection[State],  # noqa: ARG002
    ) -> TaskVersion:
        """Write the task; retry while the store fails."""
        for pause in _PAUSES:
            try:
                return await self._store_once(task, event)
            except ConcurrentTaskModificationError:
                raise
            except Exception as error:
                logger.warning("task %s could not be saved: %s", task.id, type(error).__name__)
                await asyncio.sleep(pause)
        return await self._store_once(task, event)

    async def _store_once(self, task: Task, event: Event | None) -> TaskVersion:
        return await self._store.save(
            task, event=event, prev=None, prev_version=self.version, context=self._context
        )
