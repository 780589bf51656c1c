"""The task store in a database, in a2a-sdk's interface."""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from a2a.server.cluster.task_store import (
    ConcurrentTaskModificationError,
    StoredTask,
)
from a2a.server.cluster.version import TaskVersion
from a2a.types import ListTasksResponse, Task
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import InvalidParamsError
from a2a.utils.task import (
    ListTasksCursor,
    decode_list_tasks_cursor,
    encode_list_tasks_cursor,
)
from sqlalchemy import (
    Boolean,
    and_,
    bindparam,
    delete,
    func,
    literal_column,
    or_,
    select,
    tuple_,
    update,
)

from a2a_adapters.protocol import states
from a2a_adapters.protocol.conversion import is_durable_question
from a2a_adapters.storage.bulk import Rows
from a2a_adapters.storage.commit import Write
from a2a_adapters.storage.deliveries import owe, owing
from a2a_adapters.storage.health import PATIENCE_SECONDS
from a2a_adapters.storage.interface import LeftTask, PatientTaskStore, State, number_of
from a2a_adapters.storage.schema import is_anybodys, is_task, key, push_configs, push_outbox, tasks
from a2a_adapters.storage.state_rows import SaveState
from a2a_adapters.storage.upsert import upsert

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event
    from a2a.types import ListTasksRequest
    from sqlalchemy import ColumnElement, Row, Update
    from sqlalchemy.dialects import sqlite
    from sqlalchemy.ext.asyncio import AsyncConnection

    from a2a_adapters.storage.database import Database

_Conditions: TypeAlias = "list[ColumnElement[bool]]"

_UNKNOWN = -1

ANYBODY = ""
"""In place of a process: any of them can take the answer that a task waits for."""

HANDED_OVER = ">"
"""Before the process in the same place: it has left the task, which any other is to go on with."""

_SOME = 100
"""How many tasks that have waited too long are read at once."""


class SqlTaskStore(PatientTaskStore):
    """Keeps the tasks of one agent.

    Args:
        database: Where.
        agent: Whose tasks.
    """

    def __init__(self, database: Database, agent: str) -> None:
        self._database = database
        self._agent = agent

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
            ConcurrentTaskModificationError: It has changed since `prev_version`.
            StorageUnavailableError: It could not be stored in time, and will not be.
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
    ) -> TaskVersion:
        """Store a task as it is now, however long that takes; return its new version."""
        write = self.write_of(task, owner, previous)
        write.states = [SaveState(self._agent, *state) for state in kept]
        write.size += sum(state.size for state in write.states)
        if is_handed_over:
            write.row["process"] = HANDED_OVER + self._database.process_id
        write.owe(receivers, self._database.process_id)
        write.overrides = False  # whoever was faster may work on it: that has to be stopped
        await self._database.write(write)
        return write.version

    def write_of(self, task: Task, owner: str, previous: TaskVersion) -> SaveTask:
        """Return what stores a task as it is now."""
        return SaveTask(self._agent, owner, task, previous, self._process_of(task))

    def _process_of(self, task: Task) -> str | None:
        """Return who alone can do what comes next for a task; None if nothing does."""
        if task.status.state in states.TERMINAL:
            return None
        return ANYBODY if is_durable_question(task) else self._database.process_id

    async def waiting_since(self, before: float) -> Sequence[LeftTask]:
        """Return some of the tasks that have waited for an answer since before that time."""
        query = select(tasks.c.version, tasks.c.body, tasks.c.owner_name, tasks.c.epoch).where(
            is_anybodys,
            tasks.c.agent == self._agent,
            tasks.c.changed < int(before * 1e9),
        )
        rows = await self._database.read(query.order_by(tasks.c.changed).limit(_SOME))
        return [LeftTask(row.owner_name.decode(), stored(row), row.epoch) for row in rows]

    def is_anybodys(self, task: Task) -> bool:
        """Tell whether a task waits for an answer that other processes can take as well."""
        return self._database.is_shared and is_durable_question(task)

    async def get(self, task_id: str, context: ServerCallContext) -> StoredTask | None:
        """Return the caller's task, None if there is none.

        Raises:
            StorageUnavailableError: It could not be read in time.
        """
        mine = is_task(self._agent, context.user.user_name, task_id)
        query = select(tasks.c.version, tasks.c.body).where(*mine)
        found = await self._database.read(query)
        return stored(found[0]) if found else None

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """Return a page of the caller's tasks, newest first.

        Raises:
            InvalidParamsError: The page token is none of ours.
            StorageUnavailableError: They could not be read in time.
        """
        wanted = [*self._owned(context.user.user_name), *_filters(params)]
        size = params.page_size or DEFAULT_LIST_TASKS_PAGE_SIZE
        newest = tasks.c.changed.desc(), tasks.c.id.desc()
        page = select(tasks.c.version, tasks.c.body).where(*wanted, *_after(params.page_token))
        # One more tells whether there is another page.
        rows = await self._database.read(page.order_by(*newest).limit(size + 1))
        [(total,)] = await self._database.read(
            select(func.count()).select_from(tasks).where(*wanted)
        )
        shown = [stored(row).task for row in rows[:size]]
        token = encode_list_tasks_cursor(_cursor(shown[-1])) if len(rows) > size else ""
        return ListTasksResponse(
            tasks=shown, next_page_token=token, total_size=total, page_size=size
        )

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Forget the caller's task; it need not exist."""
        write = DeleteTask(self._agent, context.user.user_name, task_id)
        await self._database.write(write, PATIENCE_SECONDS)

    def _owned(self, owner: str) -> _Conditions:
        return [tasks.c.agent == self._agent, tasks.c.owner == owner]


def stored(row: Row[Any]) -> StoredTask:
    """Return the task in a row of version and body."""
    return StoredTask(Task.FromString(row.body), TaskVersion(row.version))


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
        raise InvalidParamsError("the page token is none of this agent's")
    changed = _UNKNOWN if cursor.timestamp_ns is None else cursor.timestamp_ns
    return [tuple_(tasks.c.changed, tasks.c.id) < tuple_(changed, key(cursor.task_id))]


def _cursor(task: Task) -> ListTasksCursor:
    changed = changed_at(task)
    return ListTasksCursor(timestamp_ns=None if changed == _UNKNOWN else changed, task_id=task.id)


def changed_at(task: Task) -> int:
    """Return when a task last changed, in nanoseconds since 1970; -1 if it does not say."""
    status = task.status
    return status.timestamp.ToNanoseconds() if status.HasField("timestamp") else _UNKNOWN


class _Versions:
    """Makes versions: each later than all before, and used once."""

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        self._last = max(self._last + 1, time.time_ns())
        return self._last


_versions = _Versions()


class SaveTask(Write):
    """Stores a task if it is still as its writer knows it."""

    order = 1

    def __init__(
        self, agent: str, owner: str, task: Task, previous: TaskVersion, process: str | None
    ) -> None:
        number = _versions.next()
        body = task.SerializeToString()
        self.key = (key(agent), key(owner), key(task.id))
        self.version = TaskVersion(number)
        self.is_new = previous.is_missing
        self.task_id = task.id
        self.row = {
            "agent": agent,
            "owner": owner,
            "id": task.id,
            "context": task.context_id,
            "state": task.status.state,
            "changed": changed_at(task),
            "version": number,
            "previous": number_of(previous),
            "process": process,
            "epoch": 0,
            "owner_name": owner.encode(),
            "body": body,
        }
        self.states: Sequence[SaveState] = ()
        """What is stored with the task."""
        self.overrides = task.status.state == states.CANCELED
        """Whether it is stored whatever has changed meanwhile, unless the task is over."""
        self._owed: list[dict[str, object]] = []
        self.size = len(body)

    def owe(self, receivers: Collection[str], process: str) -> None:
        """Note with the task that a process has to tell these receivers of it."""
        row = self.row
        self._owed = [
            {
                "agent": row["agent"],
                "task": self.task_id,
                "owner": row["owner"],
                "config": config_id,
                "version": row["version"],
                "process": process,
                "task_name": self.task_id.encode(),
                "owner_name": row["owner_name"],
                "config_name": config_id.encode(),
            }
            for config_id in receivers
        ]

    def changes(self) -> dict[str, object]:
        """Return the columns that change, and what they are compared with."""
        changed = {name: value for name, value in self.row.items() if name not in _KEPT}
        compared = {f"its_{name}": self.row[name] for name in _COMPARED}
        return changed | compared | {"its_override": self.overrides}

    @classmethod
    def rows(cls, dialect: str, writes: Sequence[SaveTask]) -> Sequence[Rows] | None:
        """Return the rows of new tasks, of known ones, and of what is stored with them."""
        new = [write.row for write in writes if write.is_new]
        known = [write.changes() for write in writes if not write.is_new]
        owed = [row for write in writes for row in write._owed]  # noqa: SLF001
        kept = SaveState.rows(dialect, [state for write in writes for state in write.states])
        if kept is None:
            return None
        own = Rows(_insert(dialect), new), Rows(_UPDATE, known), Rows(owing(dialect), owed)
        return [*(rows for rows in own if rows.values), *kept]

    @classmethod
    async def execute(
        cls, connection: AsyncConnection, writes: Sequence[SaveTask]
    ) -> Sequence[object]:
        """Write them by a statement or two; those whose task has changed meanwhile are told so."""
        written = 0
        # Without RETURNING, which would need another text for every number of rows.
        if new := [write.row for write in writes if write.is_new]:
            insert = _insert(connection.dialect.name)
            written += (await connection.execute(insert, new)).rowcount
        if known := [write.changes() for write in writes if not write.is_new]:
            written += (await connection.execute(_UPDATE, known)).rowcount
        done = writes
        if written != len(writes):
            versions = await _versions_of(connection, writes)
            done = [write for write in writes if versions.get(write.key) == write.row["version"]]
        await owe(connection, [row for write in done for row in write._owed])  # noqa: SLF001
        await SaveState.execute(connection, [state for write in done for state in write.states])
        kept = set(map(id, done))
        return [
            None if id(write) in kept else ConcurrentTaskModificationError(write.task_id)
            for write in writes
        ]


@cache
def _insert(dialect: str) -> sqlite.Insert:
    """Return what stores a new task; the same once more if that is repeated."""
    statement = upsert(dialect, tasks)
    version = statement.excluded.version
    return statement.on_conflict_do_update(
        index_elements=list(_PLACE),
        set_={"version": version},
        where=tasks.c.version == version,
    ).execution_options(preserve_rowcount=True)


def _update() -> Update:
    """Return what stores a task that is as its writer knows it."""
    place = is_task(*(bindparam(f"its_{name}") for name in _PLACE))
    version = tasks.c.version
    is_known = or_(version == bindparam("its_previous"), version == bindparam("its_version"))
    # A cancellation wins over whatever is not over (a2a-sdk's interface).
    is_open = tasks.c.state.not_in([literal_column(str(int(state))) for state in states.TERMINAL])
    is_cancel = and_(bindparam("its_override", type_=Boolean()), is_open)
    return update(tasks).where(*place, or_(is_known, is_cancel))


_PLACE = ("agent", "owner", "id")
_KEPT = {*_PLACE, "epoch", "owner_name"}
_COMPARED = (*_PLACE, "previous", "version")
_UPDATE = _update()


async def _versions_of(
    connection: AsyncConnection, writes: Sequence[SaveTask]
) -> dict[tuple[str, ...], int]:
    place = [tasks.c[name] for name in _PLACE]
    wanted = {write.task_id for write in writes}  # others may have tasks of these ids, too
    query = select(*place, tasks.c.version).where(tasks.c.id.in_(wanted))
    rows = await connection.execute(query)
    return {(row.agent, row.owner, row.id): row.version for row in rows}


_OF_TASKS = (push_configs, push_outbox)


class DeleteTask(Write):
    """Forgets a task, and to whom its changes were to be sent."""

    order = 2

    def __init__(self, agent: str, owner: str, task_id: str) -> None:
        self.key = (key(agent), key(owner), key(task_id))
        self._place = (agent, owner, task_id)

    @classmethod
    async def execute(
        cls, connection: AsyncConnection, writes: Sequence[DeleteTask]
    ) -> Sequence[object]:
        """Delete them one by one: it is rare."""
        for write in writes:
            agent, owner, task_id = write._place  # noqa: SLF001
            await connection.execute(delete(tasks).where(*is_task(*write._place)))  # noqa: SLF001
            for table in _OF_TASKS:
                of_task = table.c.agent == agent, table.c.owner == owner, table.c.task == task_id
                await connection.execute(delete(table).where(*of_task))
        return [None] * len(writes)
