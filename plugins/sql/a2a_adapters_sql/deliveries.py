"""Pending push notifications: one row per receiver and task until delivery.

A receiver that missed updates gets the whole current task, so it suffices to store the latest
pending version.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, bindparam, delete, update

from a2a_adapters.storage.interface import Undelivered
from a2a_adapters_sql.bulk import Rows
from a2a_adapters_sql.commit import Write
from a2a_adapters_sql.lease import living
from a2a_adapters_sql.schema import key, push_outbox, upsert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Delete
    from sqlalchemy.dialects import sqlite
    from sqlalchemy.ext.asyncio import AsyncConnection


async def owe(connection: AsyncConnection, rows: Sequence[dict[str, Any]]) -> None:
    """Store pending deliveries, replacing older ones for the same task and receiver."""
    if rows:
        await connection.execute(owing(connection.dialect.name), rows)


@cache
def owing(dialect: str) -> sqlite.Insert:
    """Return the statement that stores pending deliveries."""
    statement = upsert(dialect, push_outbox)
    new = statement.excluded
    return statement.on_conflict_do_update(
        index_elements=_PLACE,
        set_={"version": new.version, "process": new.process},
    )


class Delivered(Write):
    """Deletes a pending delivery of this process up to a version of the task.

    Its result is true if another process may be responsible for it by now.
    """

    order = 2

    def __init__(self, agent: str, item: Undelivered, process_id: str) -> None:
        key_values = {
            "agent": agent,
            "task": item.task_id,
            "owner": item.owner,
            "config": item.config_id,
        }
        self.key = ("delivered", *map(key, key_values.values()))
        self._values: dict[str, str | int] = {
            "its_version": item.version,
            "its_process": process_id,
        }
        self._values |= {f"its_{name}": value for name, value in key_values.items()}

    @classmethod
    def rows(cls, dialect: str, writes: Sequence[Delivered]) -> Sequence[Rows]:  # noqa: ARG003
        """Return the rows to delete; deliveries with a newer version stay."""
        return [_rows(writes)]

    @classmethod
    async def execute(
        cls, connection: AsyncConnection, writes: Sequence[Delivered]
    ) -> Sequence[object]:
        """Delete them with one statement."""
        deleted = (await connection.execute(*_rows(writes))).rowcount
        return [deleted < len(writes)] * len(writes)


def _rows(writes: Sequence[Delivered]) -> Rows:
    return Rows(_DELETE, [write._values for write in writes])  # noqa: SLF001


def _delete() -> Delete:
    columns = push_outbox.c
    key_values = [columns[name] == bindparam(f"its_{name}") for name in (*_PLACE, "process")]
    return delete(push_outbox).where(*key_values, columns.version <= bindparam("its_version"))


_PLACE = ("agent", "task", "owner", "config")
_DELETE = _delete()


class TakeDeliveries(Write):
    """Takes over the pending deliveries of dead processes.

    Arguments as in `TakeOver`.
    """

    def __init__(self, agent: str, process_id: str, lease_seconds: float | None) -> None:
        self.key = ("deliveries", agent)
        self._agent = agent
        self._process_id = process_id
        self._lease_seconds = lease_seconds

    async def execute_one(self, connection: AsyncConnection) -> list[Undelivered]:
        """Take over the deliveries of an agent with one statement."""
        is_dead = push_outbox.c.process != self._process_id
        if self._lease_seconds is not None:
            alive = living(connection.dialect.name, self._lease_seconds)
            is_dead = and_(is_dead, push_outbox.c.process.not_in(alive))
        columns = push_outbox.c
        rows = await connection.execute(
            update(push_outbox)
            .where(columns.agent == self._agent, is_dead)
            .values(process=self._process_id)
            .returning(columns.owner_name, columns.task_name, columns.config_name, columns.version)
        )
        names = [(row.owner_name, row.task_name, row.config_name, row.version) for row in rows]
        return [
            Undelivered(owner.decode(), task.decode(), config.decode(), version)
            for owner, task, config, version in sorted(names, key=lambda name: name[-1])
        ]
