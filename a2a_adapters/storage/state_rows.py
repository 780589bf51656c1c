"""What is kept of conversations: a row for each of its kinds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sqlalchemy import delete

from a2a_adapters.storage.commit import Write
from a2a_adapters.storage.schema import key, states
from a2a_adapters.storage.upsert import upsert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection


class SaveState(Write):
    """Stores, or forgets, something of a conversation."""

    def __init__(
        self, agent: str, owner: str, context_id: str, kind: str, body: bytes | None
    ) -> None:
        self.key = ("state", key(agent), key(owner), key(context_id), kind)
        self.place = {"agent": agent, "owner": owner, "context": context_id, "kind": kind}
        self.body = body

    @classmethod
    async def execute(
        cls, connection: AsyncConnection, writes: Sequence[SaveState]
    ) -> Sequence[object]:
        """Write all that there is to keep by one statement."""
        changed = time.time_ns()
        rows = [
            {**w.place, "body": w.body, "changed": changed} for w in writes if w.body is not None
        ]
        if rows:
            statement = upsert(connection.dialect.name, states)
            new = statement.excluded
            statement = statement.on_conflict_do_update(
                index_elements=["agent", "owner", "context", "kind"],
                set_={"body": new.body, "changed": new.changed},
            )
            await connection.execute(statement, rows)
        for write in writes:
            if write.body is None:
                place = [states.c[name] == value for name, value in write.place.items()]
                await connection.execute(delete(states).where(*place))
        return [None] * len(writes)
