"""Task store on a database (interface of a2a-sdk)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

from a2a.server.cluster.task_store import VersionedTaskStore
from a2a.server.cluster.version import TaskVersion
from a2a.server.context import ServerCallContext
from a2a.types import ListTasksResponse, Task
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import InvalidParamsError
from a2a.utils.task import (
    ListTasksCursor,
    decode_list_tasks_cursor,
    encode_list_tasks_cursor,
)
from sqlalchemy import func, select, tuple_

from a2a_adapters.protocol import states
from a2a_adapters.protocol.conversion import is_durable_question
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.protocol.owner import Owner
from a2a_adapters.storage.interface import PATIENCE_SECONDS, State
from a2a_adapters.storage.journal import PagedStore, StoredPage
from a2a_adapters_sql.alarm import fair_timeout
from a2a_adapters_sql.schema import is_task, is_unowned, key, tasks
from a2a_adapters_sql.state_rows import SaveState
from a2a_adapters_sql.takeover import LeftTask
from a2a_adapters_sql.task_rows import (
    ANY_PROCESS,
    HANDED_OVER,
    UNKNOWN,
    DeleteTask,
    SaveTask,
    changed_at,
    stored,
)
from a2a_adapters_sql.totals import COUNTED

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from a2a.server.cluster.task_store import StoredTask
    from a2a.server.events import Event
    from a2a.types import ListTasksRequest, TaskState
    from sqlalchemy import ColumnElement

    from a2a_adapters_sql.database import Database

_Conditions: TypeAlias = "list[ColumnElement[bool]]"

_SOME = 100
"""Batch size for reading expired waiting tasks."""


class SqlTaskStore(VersionedTaskStore, PagedStore):
    """Stores the tasks of one agent.

    Args:
        database: Holds the tasks.
        agent: Name of the agent.
    """

    knows_owners = True

    def __init__(self, database: Database, agent: str) -> None:
        self._database = database
        self._agent = agent

    def page(self, owner: str, stored: StoredTask | None) -> SqlPage:
        """Return the page of an owner's task."""
        return SqlPage(self, owner, stored)

    async def save(
        self,
        task: Task,
        *,
        event: Event | None,  # noqa: ARG002 - the interface has them
        prev: Task | None,  # noqa: ARG002
        prev_version: TaskVersion,
        context: ServerCallContext,
    ) -> TaskVersion:
        """Store a task.

        Raises:
            ConcurrentTaskModificationError: The task has changed since `prev_version`.
            StorageUnavailableError: The time is up; the task will not be stored.
        """
        write = self.write_of(task, context.user.user_name, prev_version)
        await self._database.write(write, PATIENCE_SECONDS)
        return write.version

    async def put(
        self,
        task: Task,
        owner: str,
        previous: TaskVersion,
        receivers: Collection[str] = (),
        kept: Collection[State] = (),
        *,
        is_handed_over: bool = False,
        joins: bool = False,
    ) -> TaskVersion:
        """Store a task, waiting as long as necessary; return its new version.

        Args:
            task: The task.
            owner: Name of its owner.
            previous: The version it was derived from.
            receivers: Ids of the push notification configs to notify of this state.
            kept: State of contexts, stored atomically with the task.
            is_handed_over: Whether another process will resume it.
            joins: Whether the task starts now in a context that another process may be running.

        Raises:
            ConcurrentTaskModificationError: The task has changed since `previous`, or another
                process runs a task of its context; nothing was stored.
        """
        write = self.write_of(task, owner, previous)
        if joins and self._database.is_shared:
            write.join()
        write.states = [SaveState(self._agent, *state) for state in kept]
        write.size += sum(state.size for state in write.states)
        if is_handed_over:
            write.row["process"] = HANDED_OVER + self._database.process_id
        write.owe(receivers, self._database.process_id)
        write.overrides = (
            False  # a concurrent writer may be running it, and has to be stopped first
        )
        await self._database.write(write)
        return write.version

    def write_of(self, task: Task, owner: str, previous: TaskVersion) -> SaveTask:
        """Return the write for the current task."""
        return SaveTask(self._agent, owner, task, previous, self._process_of(task))

    def _process_of(self, task: Task) -> str | None:
        """Return the only process that can continue a task; None if it is terminal."""
        if task.status.state in states.TERMINAL:
            return None
        return ANY_PROCESS if is_durable_question(task) else self._database.process_id

    async def waiting_since(self, before: float) -> Sequence[LeftTask]:
        """Return some of the tasks that have been waiting for input since before a time."""
        query = select(tasks.c.version, tasks.c.body, tasks.c.owner_name, tasks.c.epoch).where(
            is_unowned,
            tasks.c.agent == self._agent,
            tasks.c.changed < int(before * 1e9),
        )
        rows = await self._database.read(query.order_by(tasks.c.changed).limit(_SOME))
        return [LeftTask(row.owner_name.decode(), stored(row)) for row in rows]

    async def count_waiting(self) -> int:
        """Return how many tasks wait for input that any process can accept, at most 10,000."""
        waiting = select(tasks.c.id).where(is_unowned, tasks.c.agent == self._agent)
        some = waiting.limit(COUNTED).subquery()
        [row] = await self._database.read(select(func.count()).select_from(some))
        return int(row[0])

    def is_unowned(self, task: Task) -> bool:
        """Return whether a task waits for input that any process can accept."""
        return self._database.is_shared and is_durable_question(task)

    async def get(self, task_id: str, context: ServerCallContext) -> StoredTask | None:
        """Return the caller's task, None if unknown.

        Raises:
            StorageUnavailableError: The database did not answer in time.
        """
        mine = is_task(self._agent, context.user.user_name, task_id)
        query = select(tasks.c.version, tasks.c.body).where(*mine)
        found = await self._database.read(query)
        return stored(found[0]) if found else None

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """Return a page of the caller's tasks, newest first.

        `total_size` is exact up to `totals.COUNTED` tasks and at most a minute old beyond.

        Raises:
            InvalidParamsError: The page token is invalid.
            StorageUnavailableError: The database did not answer in time.
        """
        owner = context.user.user_name
        wanted = [*self._owned(owner), *_filters(params)]
        size = params.page_size or DEFAULT_LIST_TASKS_PAGE_SIZE
        newest = tasks.c.changed.desc(), tasks.c.id.desc()
        page = select(tasks.c.version, tasks.c.body).where(*wanted, *_after(params.page_token))
        # One more shows whether there is another page.
        rows = await self._database.read(page.order_by(*newest).limit(size + 1))
        is_whole = not params.page_token and len(rows) <= size
        total = len(rows) if is_whole else await self._total(owner, params, wanted)
        shown = [stored(row).task for row in rows[:size]]
        token = encode_list_tasks_cursor(_cursor(shown[-1])) if len(rows) > size else ""
        return ListTasksResponse(
            tasks=shown, next_page_token=token, total_size=total, page_size=size
        )

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Delete the caller's task; it need not exist."""
        write = DeleteTask(self._agent, context.user.user_name, task_id)
        await self._database.write(write, PATIENCE_SECONDS)

    async def _total(self, owner: str, params: ListTasksRequest, wanted: _Conditions) -> int:
        after = params.status_timestamp_after.ToNanoseconds()
        name = self._agent, key(owner), key(params.context_id), params.status, after
        if (recent := self._database.totals.recent(name)) is not None:
            return recent
        some = select(tasks.c.state).where(*wanted).limit(COUNTED + 1)
        [(total,)] = await self._database.read(select(func.count()).select_from(some.subquery()))
        return self._database.totals.estimate(name, wanted) if total > COUNTED else int(total)

    def _owned(self, owner: str) -> _Conditions:
        return [tasks.c.agent == self._agent, tasks.c.owner == owner]


class SqlPage(StoredPage):
    """Publishes a settled state only once it is stored, and waits as long as the database is away.

    Args:
        store: The tasks of the agent.
        owner: The owner of the task.
        stored: The task as it was read; None if it is new.
    """

    keeps_states = True

    def __init__(self, store: SqlTaskStore, owner: str, stored: StoredTask | None) -> None:
        caller = ServerCallContext(user=Owner(owner))
        super().__init__(store, caller, stored.version if stored else TaskVersion.MISSING)
        self._tasks = store
        self._owner = owner
        self.is_known_active = stored is not None and stored.task.status.state in states.ACTIVE
        self._was_unowned = stored is not None and store.is_unowned(stored.task)

    def accepted(self, version: TaskVersion, state: TaskState) -> None:
        """Note that the task was stored with the message that began it."""
        self.version = version
        self.is_known_active = state in states.ACTIVE

    def is_unowned(self, task: Task) -> bool:
        """Return whether the task waits for an answer that any process can take."""
        return not self.is_dirty and self._tasks.is_unowned(task)

    async def written(self) -> None:
        """Wait until the state being saved is stored."""
        if self._saving is None:
            return
        try:
            async with fair_timeout(PATIENCE_SECONDS):
                await asyncio.wait([self._saving])
        except TimeoutError as error:
            raise StorageUnavailableError from error

    def _owes(self, task: Task, event: Event | None) -> bool:
        return event is not None and task.status.state in states.SETTLED

    async def _store_task(
        self,
        task: Task,
        event: Event | None,  # noqa: ARG002
        receivers: Collection[str],
        kept: Collection[State],
    ) -> TaskVersion:
        state, is_unowned = task.status.state, self._tasks.is_unowned(task)
        version = await self._tasks.put(
            task,
            self._owner,
            self.version,
            receivers,
            kept,
            is_handed_over=self.is_handed_over,
            joins=self._was_unowned and state in states.ACTIVE,
        )
        self.is_known_active, self._was_unowned = state in states.ACTIVE, is_unowned
        return version


def _filters(params: ListTasksRequest) -> list[ColumnElement[bool]]:
    filters: list[ColumnElement[bool]] = [tasks.c.state != states.UNSPECIFIED]
    if params.context_id:
        filters.append(tasks.c.context == params.context_id)
    if params.status:
        filters.append(tasks.c.state == params.status)
    if params.HasField("status_timestamp_after"):
        filters.append(tasks.c.changed >= params.status_timestamp_after.ToNanoseconds())
    return filters


def _after(token: str) -> list[ColumnElement[bool]]:
    if not token:
        return []
    cursor = decode_list_tasks_cursor(token)
    if cursor is None:
        raise InvalidParamsError("the page token is invalid")
    changed = UNKNOWN if cursor.timestamp_ns is None else cursor.timestamp_ns
    return [tuple_(tasks.c.changed, tasks.c.id) < tuple_(changed, key(cursor.task_id))]


def _cursor(task: Task) -> ListTasksCursor:
    changed = changed_at(task)
    return ListTasksCursor(timestamp_ns=None if changed == UNKNOWN else changed, task_id=task.id)
