"""Locates the process that runs a task, from the database and local knowledge."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import and_, or_, select

from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters_sql.lease import is_alive, living
from a2a_adapters_sql.schema import is_task, processes, tasks
from a2a_adapters_sql.task_rows import ANY_PROCESS
from a2a_adapters_sql.turns import runners

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from a2a.server.context import ServerCallContext

    from a2a_adapters.protocol.errors import ConversationElsewhereError
    from a2a_adapters.runtime import Runtime
    from a2a_adapters_sql.database import Database
    from a2a_adapters_sql.replicas.bus import Bus

_DIALECT = "postgresql"
"""The only database that processes can share."""

_LEFT_BEHIND = "The process that ran this task died and another is taking over; try again"


class Location(NamedTuple):
    """Location of a stored task; the defaults mean that it is terminal or unknown."""

    process: str | None = None
    """The other live process that runs the task or holds its question."""
    is_ours: bool = False
    """Whether this process runs it."""
    is_orphaned: bool = False
    """Whether its process is dead or has released the task."""
    is_unowned: bool = False
    """Whether the task waits for input that any process can accept."""

    @property
    def is_at_rest(self) -> bool:
        """Whether no live process runs the task."""
        return self.process is None and not self.is_ours


class Directory:
    """The processes that share a database, and the locations of one agent's tasks.

    Args:
        database: Holds the locations.
        agent: The agent's name.
        bus: Connects the processes.
    """

    def __init__(self, database: Database, agent: str, bus: Bus) -> None:
        self._database = database
        self.agent = agent
        self.bus = bus
        self._lease = _DIALECT, database.lease.seconds

    def on_lapse(self, listener: Callable[[], None]) -> None:
        """Call `listener` when the lease has expired before its renewal."""
        self._database.lease.listen(listener)

    def is_unbroken(self, since: float) -> bool:
        """Return whether the lease has been held since a time of `time.monotonic`."""
        return self._database.lease.is_unbroken(since)

    async def lost(self, task_ids: Sequence[str]) -> Sequence[str]:
        """Return the tasks that another process has taken over or ended."""
        process = tasks.c.process
        anothers = process.not_in([self._database.process_id, ANY_PROCESS])
        query = select(tasks.c.id).where(
            tasks.c.id.in_(task_ids),
            tasks.c.agent.is_not_distinct_from(self.agent),  # see `is_task`
            or_(process.is_(None), anothers),
        )
        return [row.id for row in await self._database.read(query)]

    async def locate(self, owner: str, task_id: str) -> Location:
        """Return the location of a task."""
        its_process = and_(processes.c.id == tasks.c.process, is_alive(*self._lease))
        query = select(tasks.c.process, processes.c.id.label("living"))
        query = query.select_from(tasks.outerjoin(processes, its_process))
        found = await self._database.read(query.where(*is_task(self.agent, owner, task_id)))
        if not found or found[0].process is None:
            return Location()
        [row] = found
        if row.living is None:
            return Location(
                is_unowned=row.process == ANY_PROCESS, is_orphaned=row.process != ANY_PROCESS
            )
        if row.living == self._database.process_id:
            return Location(is_ours=True)
        return Location(row.living)

    async def runner_of_context(self, owner: str, task_id: str) -> str | None:
        """Return another process, possibly dead, that runs a task of the same context."""
        beside = tasks.alias()
        context = select(beside.c.context).where(*is_task(self.agent, owner, task_id, table=beside))
        query = runners(self.agent, owner, context.scalar_subquery(), self._database.process_id)
        found = await self._database.read(query.limit(1))
        return found[0].process if found else None

    async def homes_of(self, owner: str) -> Sequence[str]:
        """Return the other live processes that run tasks of an owner."""
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
        """Return whether the lease of a process is valid."""
        query = select(processes.c.id).where(processes.c.id == process, is_alive(*self._lease))
        return bool(await self._database.read(query))


class Locator:
    """Finds the process responsible for an operation.

    Args:
        runtime: The runtime of this process.
        directory: Locations stored in the database.
    """

    def __init__(self, runtime: Runtime, directory: Directory) -> None:
        self._live = runtime.live
        self._recovery = runtime.recovery
        self._directory = directory

    async def let_go(self) -> None:
        """Stop running tasks that another process has taken over or ended."""
        ours = {live.task_id: live for live in self._live.all() if live.runs and live.task}
        for task_id in await self._directory.lost(list(ours)) if ours else ():
            live = ours[task_id]
            if live.runs and not live.is_terminal:  # otherwise it ended here in the meantime
                self._recovery.lose(live)

    async def locate(self, task_id: str, context: ServerCallContext) -> Location:
        """Return the location of a task; evict an outdated copy from memory."""
        live = self._live.known(task_id)
        if live and live.runs and not self._directory.is_unbroken(live.known_since):
            await self.let_go()  # tasks taken over by others
            live = self._live.known(task_id)
        if not task_id or (live and live.runs):
            return Location(is_ours=True)
        owner = context.user.user_name
        location = await self._directory.locate(owner, task_id)
        live = self._live.known(task_id)
        is_used = live and (live.runs or live.holders or live.owner != owner or live.task is None)
        if live and not is_used and not location.is_ours:
            self._live.forget(live)
        return location

    def is_here(self, task_id: str, location: Location) -> bool:
        """Return whether this process runs a task and has finished its recovery."""
        live = self._live.known(task_id)
        if not location.is_ours or (live is None and task_id):
            return False
        return live is None or bool(live.runs) or live.state not in states.ACTIVE

    async def home_of(self, task_id: str, context: ServerCallContext) -> str | None:
        """Return the other process that must answer a message to a task, None for this one.

        If any process can accept the input, it goes to one that runs another task of the
        context.
        """
        location = await self.locate(task_id, context)
        if not location.is_unowned:
            return location.process
        process = await self._directory.runner_of_context(context.user.user_name, task_id)
        return process if process and await self._is_reachable(process) else None

    async def redirected(
        self, error: ConversationElsewhereError, task_id: str, context: ServerCallContext
    ) -> str | None:
        """Return the process that must answer a message refused by the runtime.

        None if the runtime can answer it by now.

        Raises:
            StorageUnavailableError: The task's process is dead and the task not yet recovered.
        """
        if error.process:
            return error.process if await self._is_reachable(error.process) else None
        await self.check_recovered(task_id, context)
        return await self.home_of(task_id, context)

    async def check_recovered(self, task_id: str, context: ServerCallContext) -> None:
        """Raise an error if a task is waiting for recovery.

        Raises:
            StorageUnavailableError: The task's process is dead and the task not yet recovered.
        """
        location = await self.locate(task_id, context)
        if location.is_orphaned or (location.is_ours and not self.is_here(task_id, location)):
            raise StorageUnavailableError(_LEFT_BEHIND)

    async def _is_reachable(self, process: str) -> bool:
        """Return whether a process is alive; recover its tasks otherwise."""
        if await self._directory.is_alive(process):
            return True
        await self._recovery.sweep()
        await asyncio.sleep(0)  # resumed tasks run before new ones
        return False
