"""State of contexts: one row per kind."""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import delete, update

from a2a_adapters_sql.bulk import Rows
from a2a_adapters_sql.commit import Write
from a2a_adapters_sql.schema import key, states, upsert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Executable
    from sqlalchemy.dialects import sqlite
    from sqlalchemy.ext.asyncio import AsyncConnection


class SaveState(Write):
    """Stores or deletes one kind of state of a context."""

    def __init__(
        self, agent: str, owner: str, context_id: str, kind: str, body: bytes | None
    ) -> None:
        self.key = ("state", key(agent), key(owner), key(context_id), kind)
        self.place = {"agent": agent, "owner": owner, "context": context_id, "kind": kind}
        self.body = body
        self.size = len(body or b"")

    @classmethod
    def rows(cls, dialect: str, writes: Sequence[SaveState]) -> Sequence[Rows] | None:
        """Return the rows to store, or None if something is to be deleted."""
        if any(write.body is None for write in writes):
            return None
        changed = time.time_ns()
        kept = [{**write.place, "body": write.body, "changed": changed} for write in writes]
        return [Rows(_insert(dialect), kept)] if kept else []

    @classmethod
    async def execute(
        cls, connection: AsyncConnection, writes: Sequence[SaveState]
    ) -> Sequence[object]:
        """Store all values with one statement."""
        kept = [write for write in writes if write.body is not None]
        for rows in cls.rows(connection.dialect.name, kept) or ():
            await connection.execute(rows.statement, rows.values)
        for write in writes:
            if write.body is None:
                place = [states.c[name] == value for name, value in write.place.items()]
                await connection.execute(delete(states).where(*place))
        return [None] * len(writes)


class SwapState(Write):
    """Replaces state if it equals the expected value; the result is whether it did."""

    def __init__(
        self,
        agent: str,
        owner: str,
        context_id: str,
        kind: str,
        body: bytes,
        expected: bytes | None,
    ) -> None:
        save = SaveState(agent, owner, context_id, kind, body)
        self.key, self._place, self._body = save.key, save.place, body
        self._expected = expected
        self.size = save.size

    async def execute_one(self, connection: AsyncConnection) -> bool:
        """Replace the state; return whether it had the expected value."""
        new = {"body": self._body, "changed": time.time_ns()}
        swap: Executable
        if self._expected is None:
            statement = upsert(connection.dialect.name, states).values(**self._place, **new)
            swap = statement.on_conflict_do_update(
                index_elements=list(self._place),
                set_=new,
                where=states.c.body == self._body,
            ).returning(states.c.kind)
        else:
            place = [states.c[name] == value for name, value in self._place.items()]
            known = states.c.body.in_([self._expected, self._body])
            swap = update(states).where(*place, known).values(new).returning(states.c.kind)
        return (await connection.execute(swap)).first() is not None


@cache
def _insert(dialect: str) -> sqlite.Insert:
    statement = upsert(dialect, states)
    new = statement.excluded
    return statement.on_conflict_do_update(
        index_elements=["agent", "owner", "context", "kind"],
        set_={"body": new.body, "changed": new.changed},
    )
