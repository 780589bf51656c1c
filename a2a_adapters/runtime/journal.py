"""Writes live tasks to the task store."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from a2a.auth.user import User
from a2a.server.cluster.task_store import (
    ConcurrentTaskModificationError,
    LegacyTaskStoreAdapter,
    VersionedTaskStore,
)
from a2a.server.cluster.version import TaskVersion
from a2a.types import TaskArtifactUpdateEvent

from a2a_adapters.concurrency import in_background, shielded
from a2a_adapters.concurrency.alarm import fair_timeout
from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.runtime.store import MemoryTaskStore
from a2a_adapters.storage.interface import PATIENCE_SECONDS, PatientTaskStore, number_of

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
"""Seconds between attempts to save a task in a store that is in trouble."""


logger = logging.getLogger(__name__)


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

    @property
    def knows_owners(self) -> bool:
        """Whether the store itself tells which process works on a task."""
        return isinstance(self._store, PatientTaskStore)

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
        if isinstance(self._store, PatientTaskStore):
            task = stored.task if stored else None
            return PatientPage(self._store, self._within(context), version, task)
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


class Caller(User):
    """Somebody whose task comes out of a storage."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def is_authenticated(self) -> bool:
        """Whether it is somebody known."""
        return bool(self._name)

    @property
    def user_name(self) -> str:
        """The name; empty for anonymous callers."""
        return self._name


class Page(ABC):
    """The place of one task in the journal."""

    is_dirty = False
    """Whether there are changes that were not saved yet."""
    is_lost = False
    """Whether another process has the task, or its conversation: nothing more may be told of it."""
    is_handed_over = False
    """Whether another process is to go on with the task."""
    keeps_states = False
    """Whether what is kept of the conversation can be saved with the task."""
    version = TaskVersion.MISSING
    """The version of the task that was saved or read last, if the store has versions."""

    @property
    def is_saving(self) -> bool:
        """Whether a save is under way."""
        return False

    def is_anybodys(self, task: Task) -> bool:  # noqa: ARG002
        """Tell whether the task waits for an answer that other processes can take as well."""
        return False

    def waits_for(self, event: Event, state: TaskState) -> bool:  # noqa: ARG002
        """Tell whether an event that led to `state` has to be saved before it is told."""
        return not isinstance(event, TaskArtifactUpdateEvent)

    def mark(self, save: Callable[[], Awaitable[None]]) -> None:  # noqa: ARG002
        """Note that there are changes, which `save` saves when it is due."""
        self.is_dirty = True

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
            event: What changed it.
            receivers: The ids of the push notification configs that are told of that.
            kept: What is kept of the conversation from now on, if `keeps_states`.

        Returns:
            The version of the task that owes it to the receivers until they have got it, 0 if
            none does.
        """

    async def written(self) -> None:  # noqa: B027 - most tell what they could not save
        """Wait until what is being saved may be told.

        Raises:
            StorageUnavailableError: It could not be saved in time.
        """

    def accepted(self, version: TaskVersion, state: TaskState) -> None:  # noqa: B027
        """Note that the task was stored with the message that began it."""


class MemoryPage(Page):
    """A place in the memory store, which holds the live task itself."""

    def __init__(self, store: MemoryTaskStore, owner: str) -> None:
        self._store = store
        self._owner = owner

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


class StoredPage(Page):
    """A place in a store that takes its time, so saves come one after the other.

    Changes that nobody waits for are saved together, `SAVE_INTERVAL` after the first of them.
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
        """The last of the saves."""

    @property
    def is_saving(self) -> bool:
        """Whether a save is under way."""
        return self._saving is not None and not self._saving.done()

    def mark(self, save: Callable[[], Awaitable[None]]) -> None:
        """Note that there are changes, which `save` saves within `SAVE_INTERVAL`."""
        self.is_dirty = True
        if self._due is None:
            loop = asyncio.get_running_loop()
            self._due = loop.call_later(SAVE_INTERVAL, self._save_due, save)

    def _forget_due(self) -> None:
        """Stop the timer if all is saved: it holds on to the task."""
        if self._due is not None and not self.is_dirty:
            self._due.cancel()
            self._due = None

    def _save_due(self, save: Callable[[], Awaitable[None]]) -> None:
        self._due = None
        if self.is_dirty:
            in_background(self._tried(save))

    async def _tried(self, save: Callable[[], Awaitable[None]]) -> None:
        try:
            await save()
        except Exception as error:  # it is tried again when the task next changes or ends
            logger.warning("a task could not be saved: %s", type(error).__name__)

    async def save(
        self,
        task: Task,
        event: Event | None,
        receivers: Collection[str] = (),
        kept: Collection[State] = (),
    ) -> int:
        """Write the task, under the version it was read at.

        A cancelled caller does not stop the write: the version it results in must be known.
        """
        self.is_dirty = True
        owed = receivers if self._owes(task, event) else ()
        self._saving = asyncio.ensure_future(self._write(task, event, owed, kept))
        return await shielded(self._saving)

    def _owes(self, task: Task, event: Event | None) -> bool:  # noqa: ARG002
        """Tell whether the store keeps in mind who has to be told."""
        return False

    async def _write(
        self, task: Task, event: Event | None, receivers: Collection[str], kept: Collection[State]
    ) -> int:
        async with self._lock:
            if event is None and not self.is_dirty:
                return 0  # an earlier writer has saved this as well
            if self.is_lost:  # what the task holds by now was refused
                raise ConcurrentTaskModificationError(task.id)
            self.is_dirty = False
            try:
                self.version = await self._store_task(task, event, receivers, kept)
                self._forget_due()
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
        """Write the task; a store that is in passing trouble is tried again."""
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


class PatientPage(StoredPage):
    """A place in a storage of ours: what is told is stored, and what is due is written together."""

    keeps_states = True

    def __init__(
        self,
        store: PatientTaskStore,
        context: ServerCallContext,
        version: TaskVersion,
        task: Task | None,
    ) -> None:
        super().__init__(store, context, version)
        self._patient = store
        self._stored_state = states.UNSPECIFIED if task is None else task.status.state
        self._was_anybodys = task is not None and store.is_anybodys(task)

    def accepted(self, version: TaskVersion, state: TaskState) -> None:
        """Note that the task was stored with the message that began it."""
        self.version = version
        self._stored_state = state

    def is_anybodys(self, task: Task) -> bool:
        """Tell whether the task waits for an answer that other processes can take as well."""
        return not self.is_dirty and self._patient.is_anybodys(task)

    async def written(self) -> None:
        """Wait until what is being saved is stored."""
        if self._saving is None:
            return
        try:
            async with fair_timeout(PATIENCE_SECONDS):
                await asyncio.wait([self._saving])
        except TimeoutError as error:
            raise StorageUnavailableError from error

    def waits_for(self, event: Event, state: TaskState) -> bool:
        """Tell whether the stored task would say something else of who has to act next."""
        if isinstance(event, TaskArtifactUpdateEvent):
            return False
        return state in states.SETTLED or self._stored_state not in states.ACTIVE

    def _owes(self, task: Task, event: Event | None) -> bool:
        return event is not None and task.status.state in states.SETTLED

    async def _store_task(
        self,
        task: Task,
        event: Event | None,  # noqa: ARG002
        receivers: Collection[str],
        kept: Collection[State],
    ) -> TaskVersion:
        state, is_anybodys = task.status.state, self._patient.is_anybodys(task)
        version = await self._patient.put(
            task,
            self._context.user.user_name,
            self.version,
            receivers,
            kept,
            is_handed_over=self.is_handed_over,
            joins=self._was_anybodys and state in states.ACTIVE,
        )
        self._stored_state, self._was_anybodys = state, is_anybodys
        return version
