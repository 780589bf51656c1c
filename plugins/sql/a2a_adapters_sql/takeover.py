"""Takes over the unfinished tasks of dead processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import and_, case, func, literal, select, update

from a2a_adapters_sql.commit import Write
from a2a_adapters_sql.lease import living
from a2a_adapters_sql.schema import is_task, key, processes, tasks
from a2a_adapters_sql.task_rows import ANY_PROCESS, HANDED_OVER, stored
from a2a_adapters_sql.turns import is_running

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a.server.cluster.task_store import StoredTask
    from sqlalchemy import CTE, ColumnElement, FromClause, ScalarSelect
    from sqlalchemy.ext.asyncio import AsyncConnection


class LeftTask(NamedTuple):
    """An unfinished task of a dead process."""

    owner: str
    stored: StoredTask
    takeovers: int = 0
    """Number of processes that died while running it."""
    attempts: int = 0
    """Number of these that had resumed it; see `CountAttempt`."""
    process: str = ""
    """The name of its last process, if that is known."""


ATTEMPT = 100
"""Increment of a task's `epoch` per attempt; a takeover adds one."""


class CountAttempt(Write):
    """Counts an attempt to resume an orphaned task."""

    def __init__(self, agent: str, owner: str, task_id: str) -> None:
        self.key = ("attempt", key(agent), key(owner), key(task_id))
        self._place = (agent, owner, task_id)

    async def execute_one(self, connection: AsyncConnection) -> None:
        """Count the attempt."""
        counted = update(tasks).where(*is_task(*self._place))
        await connection.execute(counted.values(epoch=tasks.c.epoch + ATTEMPT))


class TakeOver(Write):
    """Takes over the tasks of dead processes.

    Args:
        agent: Name of the agent.
        process_id: This process.
        lease_seconds: The lease period; None if there are no other processes.
    """

    def __init__(self, agent: str, process_id: str, lease_seconds: float | None) -> None:
        self.key = ("takeover", agent)
        self._agent = agent
        self._process_id = process_id
        self._lease_seconds = lease_seconds
        self._taken: dict[bytes, LeftTask] = {}
        """Same for all attempts: a commit with a lost response has already taken the tasks."""

    async def execute_one(self, connection: AsyncConnection) -> list[LeftTask]:
        """Take over one agent's tasks."""
        found = await connection.execute(
            select(_HOLDERS.c.process).where(
                _HOLDERS.c.process.is_not(None), self._is_gone(connection, _HOLDERS)
            )
        )
        dead = [row.process for row in found]
        if not dead:
            return list(self._taken.values())
        # A suspended process may have resumed.
        still = self._is_gone(connection, tasks)
        is_orphaned = [tasks.c.agent == self._agent, tasks.c.process.in_(dead), still]
        if self._lease_seconds is not None:
            is_orphaned.append(~_more_comes(connection.dialect.name, self._lease_seconds))
        names = await _names(connection, is_orphaned)
        is_handed_over = tasks.c.process.startswith(HANDED_OVER)
        taken_back = case((tasks.c.epoch >= ATTEMPT, -ATTEMPT), else_=0)
        statement = (
            update(tasks)
            .where(*is_orphaned)
            .values(
                process=self._process_id,
                epoch=tasks.c.epoch + case((is_handed_over, taken_back), else_=1),
                previous=tasks.c.version,
                version=tasks.c.version + 1,
            )
            .returning(tasks.c.version, tasks.c.body, tasks.c.owner_name, tasks.c.epoch)
        )
        rows = await connection.execute(statement)
        for row in rows:
            attempts, takeovers = divmod(row.epoch, ATTEMPT)
            left = LeftTask(row.owner_name.decode(), stored(row), takeovers, attempts)
            place = row.owner_name + b"\0" + left.stored.task.id.encode()
            self._taken[place] = left._replace(process=names.get(key(left.stored.task.id), ""))
        return list(self._taken.values())

    def _is_gone(self, connection: AsyncConnection, held: FromClause) -> ColumnElement[bool]:
        """Return the condition that a process is dead and not this one."""
        others = held.c.process != self._process_id
        if self._lease_seconds is None:
            return others
        alive = living(connection.dialect.name, self._lease_seconds)
        return and_(others, held.c.process.not_in(alive))


def _next(process: ColumnElement[str]) -> ScalarSelect[str]:
    return select(func.min(tasks.c.process)).where(tasks.c.process > process).scalar_subquery()


def _holders() -> CTE:
    """Return the processes with tasks, using one index lookup per process.

    There may be a million open tasks but only a thousand processes.
    """
    first = select(_next(literal(ANY_PROCESS)).label("process")).cte("holders", recursive=True)
    return first.union_all(select(_next(first.c.process)).where(first.c.process.is_not(None)))


_HOLDERS = _holders()


def _more_comes(dialect: str, lease_seconds: float) -> ColumnElement[bool]:
    """Return the condition that a process is still handing over tasks of the same context.

    All tasks of a context must be taken together, or two processes would run it.
    """
    others = tasks.alias()
    names = ("context", "agent", "owner")
    same = (others.c[name] == tasks.c[name] for name in names)
    hands_over = HANDED_OVER + others.c.process == tasks.c.process
    is_alive = others.c.process.in_(living(dialect, lease_seconds))
    more = select(others.c.id).where(*same, hands_over, is_running(others.c.state), is_alive)
    return more.correlate(tasks).exists()


async def _names(
    connection: AsyncConnection, which: Sequence[ColumnElement[bool]]
) -> dict[str, str]:
    """Return the names of the processes that ran given tasks, by task id."""
    its = tasks.c.process.in_([processes.c.id, HANDED_OVER + processes.c.id])
    query = select(tasks.c.id, processes.c.name).join(processes, its).where(*which)
    return {row.id: row.name for row in await connection.execute(query)}
