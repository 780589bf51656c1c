"""Deletes old data in small transactions that block nothing for long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Text, and_, bindparam, delete, func, or_, select, tuple_

from a2a_adapters.contract.adapter import ELSEWHERE
from a2a_adapters.protocol import states as task_states
from a2a_adapters.storage.interface import PATIENCE_SECONDS
from a2a_adapters_sql.commit import Write
from a2a_adapters_sql.schema import is_task, messages, push_configs, push_outbox, states, tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Row, Table
    from sqlalchemy.ext.asyncio import AsyncConnection

    from a2a_adapters_sql.database import Database

_ROWS = 500
"""Maximum number of rows deleted from a table per transaction."""

_LOCK = 0x613262
"""Advisory lock that serialises pruning on PostgreSQL."""


async def prune_agent(
    database: Database, agent: str, before: int, most: int, kinds: Sequence[str] = ()
) -> int:
    """Delete an agent's data older than a time, and terminal tasks beyond a number.

    State rows that reference external data are deleted only if their kind is given. One process
    prunes at a time; concurrent calls return at once.

    Returns:
        The number of deleted tasks.
    """
    newest = select(tasks.c.changed).where(tasks.c.agent == agent).order_by(tasks.c.changed.desc())
    surplus = await database.read(newest.offset(most).limit(1))
    ended = max(before, surplus[0].changed + 1) if surplus else before
    return await _prune(database, Prune(agent, ended, before, kinds))


async def prune_all(database: Database, before: int) -> int:
    """Delete data of all agents older than a time; return the number of deleted tasks.

    External data is left to the agents' servers.
    """
    return await _prune(database, Prune(None, before, before))


async def names_elsewhere(database: Database, agent: str, kind: str, before: int) -> Sequence[str]:
    """Return the names of external data unused since a time."""
    column = states.c
    old = column.agent == agent, column.kind == kind, column.changed < before
    rows = await database.read(select(column.body).where(*old).order_by(column.changed))
    return [row.body.decode() for row in rows]


async def _prune(database: Database, prune: Prune) -> int:
    forgotten = 0
    while True:
        done: Pruned = await database.write(prune, PATIENCE_SECONDS)
        forgotten += done.tasks
        if not done.has_more:
            return forgotten


class Pruned(NamedTuple):
    """Result of one pruning transaction."""

    tasks: int
    has_more: bool
    """Whether more data is due."""


class Prune(Write):
    """Deletes some of the data older than a time.

    Args:
        agent: Name of the agent; None means all agents.
        ended: Delete tasks that ended before, in nanoseconds since 1970.
        used: Delete conversations last used before.
        kinds: Kinds of states with external data to delete.
    """

    order = 4

    def __init__(self, agent: str | None, ended: int, used: int, kinds: Sequence[str] = ()) -> None:
        self.key = ("prune", agent or "")
        self._agent = agent
        self._before = ended
        self._used = used
        self._kinds = kinds

    async def execute_one(self, connection: AsyncConnection) -> Pruned:
        """Delete with a few statements per agent."""
        if self._agent is not None and not await _is_my_turn(connection):
            return Pruned(0, has_more=False)
        over = and_(tasks.c.state.in_(task_states.TERMINAL), tasks.c.changed < self._before)
        deleted = await self._forget(connection, tasks, tasks.c.changed, over)
        for table in (push_configs, push_outbox):
            await _forget_of(connection, table, deleted)
        its_task = is_task(messages.c.agent, messages.c.owner, messages.c.task)
        is_known = select(tasks.c.id).where(*its_task)
        accepted = messages.c.accepted
        useless = and_(accepted < self._before, ~is_known.exists())
        used = states.c.changed
        # State without a context belongs to the agent itself.
        is_conversations = states.c.context != ""
        is_here = or_(states.c.kind.not_like(f"{ELSEWHERE}%"), states.c.kind.in_(self._kinds))
        rows = [
            deleted,
            await self._forget(connection, messages, accepted, useless),
            await self._forget(
                connection, states, used, and_(used < self._used, is_conversations, is_here)
            ),
        ]
        return Pruned(len(deleted), has_more=any(len(found) == _ROWS for found in rows))

    async def _forget(
        self,
        connection: AsyncConnection,
        table: Table,
        age: ColumnElement[int],
        condition: ColumnElement[bool],
    ) -> Sequence[Row[Any]]:
        """Delete the oldest rows; return their stored keys."""
        place = [column for column in table.c if column.primary_key]
        oldest = select(*place).where(condition).order_by(age).limit(_ROWS)
        if self._agent is not None:
            oldest = oldest.where(table.c.agent == self._agent)
        statement = delete(table).where(tuple_(*place).in_(oldest)).returning(*place)
        return (await connection.execute(statement)).all()


async def _forget_of(
    connection: AsyncConnection, table: Table, deleted: Sequence[Row[Any]]
) -> None:
    """Delete the rows that belong to deleted tasks."""
    names = ("agent", "owner", "task")
    # Already stored keys; the columns' type would convert them again.
    place = [table.c[name] == bindparam(f"its_{name}", type_=Text()) for name in names]
    keys = [dict(zip((f"its_{name}" for name in names), row, strict=True)) for row in deleted]
    if keys:
        await connection.execute(delete(table).where(*place), keys)


async def _is_my_turn(connection: AsyncConnection) -> bool:
    if connection.dialect.name != "postgresql":
        return True
    return bool(await connection.scalar(select(func.pg_try_advisory_xact_lock(_LOCK))))
