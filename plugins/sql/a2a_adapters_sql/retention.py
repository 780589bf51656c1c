"""Forgets what is old, a few rows at a time, so that nobody waits long."""

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
"""How many of a table are forgotten by one transaction."""

_LOCK = 0x613262
"""The number of the lock that PostgreSQL's servers take turns by."""


async def prune_agent(
    database: Database, agent: str, before: int, most: int, kinds: Sequence[str] = ()
) -> int:
    """Forget what an agent has kept since before a time, and finished tasks beyond a number.

    Of states that tell where something is kept elsewhere those of these kinds go. One process does
    so at a time: the others have nothing to do meanwhile.

    Returns:
        How many tasks were forgotten.
    """
    newest = select(tasks.c.changed).where(tasks.c.agent == agent).order_by(tasks.c.changed.desc())
    surplus = await database.read(newest.offset(most).limit(1))
    ended = max(before, surplus[0].changed + 1) if surplus else before
    return await _prune(database, Prune(agent, ended, before, kinds))


async def prune_all(database: Database, before: int) -> int:
    """Forget what all agents have kept since before a time; return how many tasks.

    Not what is kept elsewhere: the agents' servers do that.
    """
    return await _prune(database, Prune(None, before, before))


async def names_elsewhere(database: Database, agent: str, kind: str, before: int) -> Sequence[str]:
    """Return under which names things were kept elsewhere, and not used since before a time."""
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
    """What one transaction has forgotten."""

    tasks: int
    has_more: bool
    """Whether there is more to forget."""


class Prune(Write):
    """Forgets some of what was kept since before a time.

    Args:
        agent: Whose; None is everybody's.
        ended: Before when tasks ended, in nanoseconds since 1970.
        used: Before when conversations were last used.
        kinds: Which of the states go that tell where something is kept elsewhere.
    """

    order = 4

    def __init__(self, agent: str | None, ended: int, used: int, kinds: Sequence[str] = ()) -> None:
        self.key = ("prune", agent or "")
        self._agent = agent
        self._before = ended
        self._used = used
        self._kinds = kinds

    @classmethod
    async def execute(
        cls, connection: AsyncConnection, writes: Sequence[Prune]
    ) -> Sequence[object]:
        """Delete by a few statements for each agent."""
        return [await write._prune(connection) for write in writes]  # noqa: SLF001

    async def _prune(self, connection: AsyncConnection) -> Pruned:
        if self._agent is not None and not await _is_my_turn(connection):
            return Pruned(0, has_more=False)
        over = and_(tasks.c.state.in_(task_states.TERMINAL), tasks.c.changed < self._before)
        gone = await self._forget(connection, tasks, tasks.c.changed, over)
        for table in (push_configs, push_outbox):
            await _forget_of(connection, table, gone)
        its_task = is_task(messages.c.agent, messages.c.owner, messages.c.task)
        is_known = select(tasks.c.id).where(*its_task)
        accepted = messages.c.accepted
        useless = and_(accepted < self._before, ~is_known.exists())
        used = states.c.changed
        # What belongs to no conversation is the agent's own.
        is_conversations = states.c.context != ""
        is_here = or_(states.c.kind.not_like(f"{ELSEWHERE}%"), states.c.kind.in_(self._kinds))
        rows = [
            gone,
            await self._forget(connection, messages, accepted, useless),
            await self._forget(
                connection, states, used, and_(used < self._used, is_conversations, is_here)
            ),
        ]
        return Pruned(len(gone), has_more=any(len(found) == _ROWS for found in rows))

    async def _forget(
        self,
        connection: AsyncConnection,
        table: Table,
        age: ColumnElement[int],
        condition: ColumnElement[bool],
    ) -> Sequence[Row[Any]]:
        """Delete the oldest rows; return their keys as they are stored."""
        place = [column for column in table.c if column.primary_key]
        oldest = select(*place).where(condition).order_by(age).limit(_ROWS)
        if self._agent is not None:
            oldest = oldest.where(table.c.agent == self._agent)
        statement = delete(table).where(tuple_(*place).in_(oldest)).returning(*place)
        return (await connection.execute(statement)).all()


async def _forget_of(connection: AsyncConnection, table: Table, gone: Sequence[Row[Any]]) -> None:
    """Delete what belongs to tasks that are gone."""
    names = ("agent", "owner", "task")
    # They are stored keys already, which the columns' type would make anew.
    place = [table.c[name] == bindparam(f"its_{name}", type_=Text()) for name in names]
    keys = [dict(zip((f"its_{name}" for name in names), row, strict=True)) for row in gone]
    if keys:
        await connection.execute(delete(table).where(*place), keys)


async def _is_my_turn(connection: AsyncConnection) -> bool:
    if connection.dialect.name != "postgresql":
        return True
    return bool(await connection.scalar(select(func.pg_try_advisory_xact_lock(_LOCK))))
