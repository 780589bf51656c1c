"""Ordering of a context across processes: all its running tasks share a process."""

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
"""States of running and queued tasks."""


def is_running(state: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that a task is running or queued."""
    return state.in_([literal_column(str(int(each))) for each in _RUNNING])


def _running(agent: Any, owner: Any, context: Any, process: Any) -> Select[tuple[str]]:
    """Return the query for the other processes with tasks of a context."""
    columns = tasks.c
    return select(columns.process).where(
        columns.context == context,  # uses the partial index of tasks with a process
        columns.process.is_not(None),
        columns.process != process,
        is_running(columns.state),
        columns.agent.is_not_distinct_from(agent),
        columns.owner.is_not_distinct_from(owner),
    )


_BOUND = _running(*(bindparam(f"its_{name}") for name in ("agent", "owner", "context", "process")))
_FREE: Select[Any] = select(literal_column("1")).where(~_BOUND.exists())
"""Yields a row if there are none."""


class Joining:
    """Guards the start of a task in a context that may run elsewhere.

    A database lock serialises two processes that start tasks of the same context: the second
    waits for the commit of the first and sees it.

    Args:
        row: The row of the task.

    Attributes:
        lock: The lock to take before starting a task.
    """

    def __init__(self, row: _Row) -> None:
        names = ("agent", "owner", "context", "process")
        self._place = {f"its_{name}": row[name] for name in names}
        place = "\0".join(row[name] for name in names[:3])
        digest = hashlib.sha256(place.encode()).digest()
        self.lock = int.from_bytes(digest[:8], signed=True)

    @staticmethod
    def rows(joining: Sequence[Joining]) -> list[Rows]:
        """Return the queries that yield one row per task unless it runs elsewhere."""
        places = [one._place for one in joining]  # noqa: SLF001
        return [Rows(_FREE, places)] if places else []

    async def runner(self, connection: AsyncConnection) -> str | None:
        """Return another process with a task of the context, None without one."""
        found: str | None = await connection.scalar(_BOUND, self._place)
        return found


def runners(
    agent: str, owner: str, context_id: ColumnElement[str], process: str
) -> Select[tuple[str]]:
    """Return the query for the other processes with running tasks of a context."""
    return _running(literal(agent), literal(owner), context_id, literal(process))
