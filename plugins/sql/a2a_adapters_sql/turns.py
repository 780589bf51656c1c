"""The order of a conversation among processes: where one of its tasks runs, the next one goes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, literal, literal_column, select

from a2a_adapters.protocol import states
from a2a_adapters_sql.bulk import Rows
from a2a_adapters_sql.schema import tasks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from sqlalchemy import ColumnElement, Select
    from sqlalchemy.ext.asyncio import AsyncConnection

    _Row: TypeAlias = dict[str, Any]

_RUNNING = (states.UNSPECIFIED, *sorted(states.ACTIVE))
"""The states of tasks that the agent works on, or will."""


def is_running(state: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that the agent works on a task, or will."""
    return state.in_([literal_column(str(int(each))) for each in _RUNNING])


def _running(agent: Any, owner: Any, context: Any, process: Any) -> Select[tuple[str]]:
    """Return the query for the processes, but this one, that have tasks of a conversation."""
    columns = tasks.c
    return select(columns.process).where(
        columns.context == context,  # by the index of the few that have a process
        columns.process.is_not(None),
        columns.process != process,
        is_running(columns.state),
        columns.agent.is_not_distinct_from(agent),
        columns.owner.is_not_distinct_from(owner),
    )


_BOUND = _running(*(bindparam(f"its_{name}") for name in ("agent", "owner", "context", "process")))
_FREE: Select[Any] = select(literal_column("1")).where(~_BOUND.exists())
"""A row if there are none."""


class Joining:
    """What begins to work on a task of a conversation that there may be already.

    Two processes that begin something at once do so one after the other: a lock of the database
    keeps them apart until the first is committed, and the second sees it.

    Args:
        row: The row of the task.

    Attributes:
        lock: What has to be locked by whoever begins something there.
    """

    def __init__(self, row: _Row) -> None:
        names = ("agent", "owner", "context", "process")
        self._place = {f"its_{name}": row[name] for name in names}
        place = "\0".join(row[name] for name in names[:3])
        digest = hashlib.sha256(place.encode()).digest()
        self.lock = int.from_bytes(digest[:8], signed=True)

    @staticmethod
    def rows(joining: Sequence[Joining]) -> list[Rows]:
        """Return what is read of them: as many rows as there are, if none goes elsewhere."""
        places = [one._place for one in joining]  # noqa: SLF001
        return [Rows(_FREE, places)] if places else []

    async def runner(self, connection: AsyncConnection) -> str | None:
        """Return another process that has a task of the conversation, None if there is none."""
        found: str | None = await connection.scalar(_BOUND, self._place)
        return found


def runners(
    agent: str, owner: str, context_id: ColumnElement[str], process: str
) -> Select[tuple[str]]:
    """Return the query for the other processes that have running tasks of a conversation."""
    return _running(literal(agent), literal(owner), context_id, literal(process))
