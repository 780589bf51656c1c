"""Which of the processes with one database has which tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import and_, or_, select

from a2a_adapters_sql.lease import is_alive, living
from a2a_adapters_sql.schema import is_task, processes, tasks
from a2a_adapters_sql.task_rows import ANYBODY
from a2a_adapters_sql.turns import runners

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters_sql.database import Database
    from a2a_adapters_sql.replicas.bus import Bus

_DIALECT = "postgresql"
"""The one database that several processes use."""


class Place(NamedTuple):
    """Where a stored task is."""

    process: str | None = None
    """The other living process that alone can do something about it, if there is one."""
    is_ours: bool = False
    """Whether that is this process."""


class Places:
    """Where the tasks of one agent are.

    Args:
        database: Knows it.
        agent: Whose tasks.
    """

    def __init__(self, database: Database, agent: str) -> None:
        self._database = database
        self.agent = agent
        self._lease = _DIALECT, database.lease.seconds

    @property
    def bus(self) -> Bus | None:
        """The way to the other processes, None if there can be none."""
        return self._database.bus

    def is_unbroken(self, since: float) -> bool:
        """Tell whether this process has counted as alive since a time of `time.monotonic`."""
        return not self._database.is_shared or self._database.lease.is_unbroken(since)

    async def lost(self, task_ids: Sequence[str]) -> Sequence[str]:
        """Return which of these tasks another process has, or has ended."""
        process = tasks.c.process
        anothers = process.not_in([self._database.process_id, ANYBODY])
        query = select(tasks.c.id).where(
            tasks.c.id.in_(task_ids),
            tasks.c.agent.is_not_distinct_from(self.agent),  # see `is_task`
            or_(process.is_(None), anothers),
        )
        return [row.id for row in await self._database.read(query)]

    async def place_of(self, owner: str, task_id: str) -> Place:
        """Return where a task is; nowhere if it has ended or anybody can go on with it."""
        its_process = and_(processes.c.id == tasks.c.process, is_alive(*self._lease))
        query = select(processes.c.id).select_from(processes.join(tasks, its_process))
        query = query.where(*is_task(self.agent, owner, task_id))
        found = [row.id for row in await self._database.read(query)]
        if found == [self._database.process_id]:
            return Place(is_ours=True)
        return Place(found[0] if found else None)

    async def runner_of(self, owner: str, context_id: str) -> str | None:
        """Return another process that works on a task of a conversation; it may be gone."""
        query = runners(self.agent, owner, context_id, self._database.process_id)
        found = await self._database.read(query.limit(1))
        return found[0].process if found else None

    async def homes_of(self, owner: str) -> Sequence[str]:
        """Return the other living processes that work on tasks of an owner."""
        process = tasks.c.process
        query = select(process).distinct()
        query = query.where(
            process.in_(living(*self._lease)),
            process != self._database.process_id,
            tasks.c.agent == self.agent,
            tasks.c.owner == owner,
        )
        return [row.process for row in await self._database.read(query)]

    async def is_alive(self, process: str) -> bool:
        """Tell whether the lease of a process has not ended."""
        query = select(processes.c.id).where(processes.c.id == process, is_alive(*self._lease))
        return bool(await self._database.read(query))
