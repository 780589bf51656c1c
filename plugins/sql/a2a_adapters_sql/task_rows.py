"""Writes of tasks: one row per task."""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING, Any

from a2a.server.cluster.task_store import ConcurrentTaskModificationError, StoredTask
from a2a.server.cluster.version import TaskVersion
from a2a.types import Task
from sqlalchemy import Boolean, and_, bindparam, delete, literal_column, or_, select, update

from a2a_adapters.protocol import states
from a2a_adapters.storage.interface import number_of
from a2a_adapters_sql.bulk import Rows
from a2a_adapters_sql.commit import Write
from a2a_adapters_sql.deliveries import owe, owing
from a2a_adapters_sql.push import SaveConfig
from a2a_adapters_sql.schema import is_task, key, push_configs, push_outbox, tasks, upsert
from a2a_adapters_sql.state_rows import SaveState
from a2a_adapters_sql.turns import Joining

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import Row, Update
    from sqlalchemy.dialects import sqlite
    from sqlalchemy.ext.asyncio import AsyncConnection

ANY_PROCESS = ""
"""Stored instead of a process: any process can accept the input a task waits for."""

HANDED_OVER = ">"
"""Prefix of the stored process: it has released the task, which any other may resume."""

UNKNOWN = -1
"""Stored change time of a task without a timestamp."""

_LATEST = (1 << 63) - 1


def stored(row: Row[Any]) -> StoredTask:
    """Return the task in a row of version and body."""
    return StoredTask(Task.FromString(row.body), TaskVersion(row.version))


def changed_at(task: Task) -> int:
    """Return the time of a task's last change, in nanoseconds since 1970; -1 if unknown.

    Times outside 1678 to 2261 are clamped to the 64 bits of the column.
    """
    if not task.status.HasField("timestamp"):
        return UNKNOWN
    return max(-_LATEST - 1, min(_LATEST, task.status.timestamp.ToNanoseconds()))


class _Versions:
    """Generates unique, increasing versions."""

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        self._last = max(self._last + 1, time.time_ns())
        return self._last


_versions = _Versions()


class SaveTask(Write):
    """Stores a task if its stored version is the expected one."""

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
        self.configs: Sequence[SaveConfig] = ()
        """State to store with the task."""
        self.overrides = task.status.state == states.CANCELED
        """Whether to ignore concurrent changes, unless the task is terminal."""
        self.joining: Joining | None = None
        """The task's context, if another process may run tasks of it."""
        self._owed: list[dict[str, object]] = []
        self.size = len(body)

    def join(self) -> None:
        """Store it only if no other process runs its context."""
        self.joining = Joining(self.row)
        self.locks = (self.joining.lock,)

    def owe(self, receivers: Collection[str], process: str) -> None:
        """Store pending deliveries to these receivers with the task."""
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
        """Return the changed columns and the expected version."""
        changed = {name: value for name, value in self.row.items() if name not in _KEPT}
        compared = {f"its_{name}": self.row[name] for name in _COMPARED}
        return changed | compared | {"its_override": self.overrides}

    @classmethod
    def rows(cls, dialect: str, writes: Sequence[SaveTask]) -> Sequence[Rows] | None:
        """Return the rows of new and existing tasks and of data stored with them."""
        new = [write.row for write in writes if write.is_new]
        known = [write.changes() for write in writes if not write.is_new]
        owed = [row for write in writes for row in write._owed]  # noqa: SLF001
        kept = SaveState.rows(dialect, [state for write in writes for state in write.states])
        if kept is None:
            return None
        joining = Joining.rows([write.joining for write in writes if write.joining])
        configs = SaveConfig.rows(dialect, [one for write in writes for one in write.configs])
        own = Rows(_insert(dialect), new), Rows(_UPDATE, known), Rows(owing(dialect), owed)
        return [*joining, *(rows for rows in own if rows.values), *configs, *kept]

    @classmethod
    async def execute(
        cls, connection: AsyncConnection, writes: Sequence[SaveTask]
    ) -> Sequence[object]:
        """Write them with one or two statements; report conflicts with other processes."""
        elsewhere = await _elsewhere(connection, writes)
        here = [write for write in writes if write.key not in elsewhere]
        written = 0
        # Without RETURNING, whose text would depend on the number of rows.
        if new := [write.row for write in here if write.is_new]:
            insert = _insert(connection.dialect.name)
            written += (await connection.execute(insert, new)).rowcount
        if known := [write.changes() for write in here if not write.is_new]:
            written += (await connection.execute(_UPDATE, known)).rowcount
        done = here
        if written != len(here):
            stored = await _stored(connection, here)
            done = [write for write in here if write.key in stored]
        await owe(connection, [row for write in done for row in write._owed])  # noqa: SLF001
        await SaveConfig.execute(connection, [one for write in done for one in write.configs])
        await SaveState.execute(connection, [state for write in done for state in write.states])
        kept = set(map(id, done))
        return [
            None if id(write) in kept else ConcurrentTaskModificationError(write.task_id)
            for write in writes
        ]


@cache
def _insert(dialect: str) -> sqlite.Insert:
    """Return the idempotent statement that stores a new task."""
    statement = upsert(dialect, tasks)
    version = statement.excluded.version
    return statement.on_conflict_do_update(
        index_elements=list(_PLACE),
        set_={"version": version},
        where=tasks.c.version == version,
    ).execution_options(preserve_rowcount=True)


def _update() -> Update:
    """Return the statement that updates a task of the expected version."""
    place = is_task(*(bindparam(f"its_{name}") for name in _PLACE))
    version = tasks.c.version
    is_known = or_(version == bindparam("its_previous"), version == bindparam("its_version"))
    # A cancellation overrides every non-terminal state (a2a-sdk's interface).
    is_open = tasks.c.state.not_in([literal_column(str(int(state))) for state in states.TERMINAL])
    is_cancel = and_(bindparam("its_override", type_=Boolean()), is_open)
    return update(tasks).where(*place, or_(is_known, is_cancel))


_PLACE = ("agent", "owner", "id")
_KEPT = {*_PLACE, "epoch", "owner_name"}
_COMPARED = (*_PLACE, "previous", "version")
_UPDATE = _update()


async def _elsewhere(
    connection: AsyncConnection, writes: Sequence[SaveTask]
) -> set[tuple[str, ...]]:
    """Return the keys of tasks whose context runs in another process.

    Excludes tasks already stored by a commit with a lost response.
    """
    joining = {write.key: write.joining for write in writes if write.joining}
    going = {key for key, one in joining.items() if await one.runner(connection) is not None}
    if not going:
        return going
    return going - await _stored(connection, [write for write in writes if write.key in going])


async def _stored(connection: AsyncConnection, writes: Sequence[SaveTask]) -> set[tuple[str, ...]]:
    """Return the keys of the stored tasks."""
    place = [tasks.c[name] for name in _PLACE]
    wanted = {write.task_id for write in writes}  # other owners may use these ids as well
    query = select(*place, tasks.c.version).where(tasks.c.id.in_(wanted))
    rows = await connection.execute(query)
    versions: dict[tuple[str, ...], int] = {tuple(row[:3]): row.version for row in rows}
    return {write.key for write in writes if versions.get(write.key) == write.row["version"]}


_OF_TASKS = (push_configs, push_outbox)


class DeleteTask(Write):
    """Deletes a task and its push configs."""

    order = 2

    def __init__(self, agent: str, owner: str, task_id: str) -> None:
        self.key = (key(agent), key(owner), key(task_id))
        self._place = (agent, owner, task_id)

    async def execute_one(self, connection: AsyncConnection) -> None:
        """Delete the task and the rows that belong to it."""
        agent, owner, task_id = self._place
        await connection.execute(delete(tasks).where(*is_task(*self._place)))
        for table in _OF_TASKS:
            of_task = table.c.agent == agent, table.c.owner == owner, table.c.task == task_id
            await connection.execute(delete(table).where(*of_task))
