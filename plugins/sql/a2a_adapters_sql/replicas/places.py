"""Which process works on a task: as the database knows it, and as this process does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import and_, or_, select

from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters_sql.lease import is_alive, living
from a2a_adapters_sql.schema import is_task, processes, tasks
from a2a_adapters_sql.task_rows import ANYBODY
from a2a_adapters_sql.turns import runners

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from a2a.server.context import ServerCallContext

    from a2a_adapters.protocol.errors import ConversationElsewhereError
    from a2a_adapters.runtime import Runtime
    from a2a_adapters_sql.database import Database
    from a2a_adapters_sql.replicas.bus import Bus

_DIALECT = "postgresql"
"""The one database that several processes use."""

_LEFT_BEHIND = "The process that worked on this task is gone; another goes on with it: try again"


class Place(NamedTuple):
    """Where a stored task is; by default it has ended, or there is none."""

    process: str | None = None
    """The other living process that works on the task, or that its question is bound to."""
    is_ours: bool = False
    """Whether that is this process."""
    is_left: bool = False
    """Whether that process is dead, or has handed the task over."""
    is_anybodys: bool = False
    """Whether the task waits for an answer that any process can take."""

    @property
    def is_at_rest(self) -> bool:
        """Whether no living process works on the task."""
        return self.process is None and not self.is_ours


class Places:
    """The processes that share a database, and where the tasks of one agent are among them.

    Args:
        database: Knows it.
        agent: The agent's name.
        bus: Connects the processes.
    """

    def __init__(self, database: Database, agent: str, bus: Bus) -> None:
        self._database = database
        self.agent = agent
        self.bus = bus
        self._lease = _DIALECT, database.lease.seconds

    def on_lapse(self, listener: Callable[[], None]) -> None:
        """Have `listener` called when the lease had ended before it was renewed."""
        self._database.lease.listen(listener)

    def is_unbroken(self, since: float) -> bool:
        """Return whether this process has counted as alive since a time of `time.monotonic`."""
        return self._database.lease.is_unbroken(since)

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
        """Return where a task is."""
        its_process = and_(processes.c.id == tasks.c.process, is_alive(*self._lease))
        query = select(tasks.c.process, processes.c.id.label("living"))
        query = query.select_from(tasks.outerjoin(processes, its_process))
        found = await self._database.read(query.where(*is_task(self.agent, owner, task_id)))
        if not found or found[0].process is None:
            return Place()
        [row] = found
        if row.living is None:
            return Place(is_anybodys=row.process == ANYBODY, is_left=row.process != ANYBODY)
        if row.living == self._database.process_id:
            return Place(is_ours=True)
        return Place(row.living)

    async def runner_beside(self, owner: str, task_id: str) -> str | None:
        """Return another process that works on a task of the same conversation; it may be gone."""
        beside = tasks.alias()
        context = select(beside.c.context).where(*is_task(self.agent, owner, task_id, table=beside))
        query = runners(self.agent, owner, context.scalar_subquery(), self._database.process_id)
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
        """Return whether the lease of a process has not ended."""
        query = select(processes.c.id).where(processes.c.id == process, is_alive(*self._lease))
        return bool(await self._database.read(query))


class Locator:
    """Finds the process that has to do an operation, as far as this process can know.

    Args:
        runtime: The runtime of this process.
        places: Where the tasks are by the database.
    """

    def __init__(self, runtime: Runtime, places: Places) -> None:
        self._live = runtime.live
        self._recovery = runtime.recovery
        self._places = places

    async def let_go(self) -> None:
        """Stop the work on tasks that another process has taken, or ended."""
        ours = {live.task_id: live for live in self._live.all() if live.runs and live.task}
        for task_id in await self._places.lost(list(ours)) if ours else ():
            live = ours[task_id]
            if live.runs and not live.is_terminal:  # else it has ended here meanwhile
                self._recovery.lose(live)

    async def place_of(self, task_id: str, context: ServerCallContext) -> Place:
        """Return where a task is; an outdated copy in memory is forgotten."""
        live = self._live.known(task_id)
        if live and live.runs and not self._places.is_unbroken(live.known_since):
            await self.let_go()  # what others have taken meanwhile
            live = self._live.known(task_id)
        if not task_id or (live and live.runs):
            return Place(is_ours=True)
        owner = context.user.user_name
        place = await self._places.place_of(owner, task_id)
        live = self._live.known(task_id)
        is_used = live and (live.runs or live.holders or live.owner != owner or live.task is None)
        if live and not is_used and not place.is_ours:
            self._live.forget(live)
        return place

    def is_here(self, task_id: str, place: Place) -> bool:
        """Return whether a task is ours, and already recovered if it had to be."""
        live = self._live.known(task_id)
        if not place.is_ours or (live is None and task_id):
            return False
        return live is None or bool(live.runs) or live.state not in states.ACTIVE

    async def home_of(self, task_id: str, context: ServerCallContext) -> str | None:
        """Return the other process that has to answer a message to a task, None if this one may.

        An answer that any process can take belongs to the process that works on another task of
        the conversation.
        """
        place = await self.place_of(task_id, context)
        if not place.is_anybodys:
            return place.process
        process = await self._places.runner_beside(context.user.user_name, task_id)
        return process if process and await self._is_reachable(process) else None

    async def redirected(
        self, error: ConversationElsewhereError, task_id: str, context: ServerCallContext
    ) -> str | None:
        """Return the process that has to answer a message which the runtime has refused.

        None if the runtime may answer it by now.

        Raises:
            StorageUnavailableError: The task's process is dead, and its work has not resumed yet.
        """
        if error.process:
            return error.process if await self._is_reachable(error.process) else None
        await self.check_recovered(task_id, context)
        return await self.home_of(task_id, context)

    async def check_recovered(self, task_id: str, context: ServerCallContext) -> None:
        """Refuse what would go ahead of the recovery of a task.

        Raises:
            StorageUnavailableError: The task's process is dead, and its work has not resumed yet.
        """
        place = await self.place_of(task_id, context)
        if place.is_left or (place.is_ours and not self.is_here(task_id, place)):
            raise StorageUnavailableError(_LEFT_BEHIND)

    async def _is_reachable(self, process: str) -> bool:
        """Return whether a process lives; if not, its tasks are recovered here."""
        if await self._places.is_alive(process):
            return True
        await self._recovery.sweep()
        await asyncio.sleep(0)  # what is resumed takes its turn before what is new
        return False
