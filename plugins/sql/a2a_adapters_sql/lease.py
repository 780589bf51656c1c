"""Which processes are alive: told by a lock on a file, or by leases that have to be renewed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import time
from typing import TYPE_CHECKING

from sqlalchemy import and_, delete, func, literal, or_, select, update

from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.observability.figures import process_name
from a2a_adapters_sql.commit import Write
from a2a_adapters_sql.quotas import Quotas
from a2a_adapters_sql.schema import processes, upsert

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from sqlalchemy import ColumnElement, ScalarSelect, Update
    from sqlalchemy.ext.asyncio import AsyncConnection

    from a2a_adapters_sql.commit import GroupCommit
    from a2a_adapters_sql.figures import StorageFigures

_MOST_GRACES = 3
"""How often others extend the lease of a process that does not renew it itself. After an outage, a
process that lives renews it within seconds; without a limit, processes that die soon after their
start would keep the dead alive for good."""

LEASE_SECONDS = 10.0
"""How long a process that does not renew its lease counts as alive, if nobody says otherwise."""

logger = logging.getLogger(__name__)


class FileLock:
    """Held by the one process that uses a SQLite file. It ends with the process, however that ends.

    Args:
        path: The file of the database; the lock has one beside it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ".lock")
        self._database = path
        self._handle: int | None = None

    def take(self) -> None:
        """Take the lock.

        Raises:
            ConfigurationError: Another process has it, or the file cannot be written.
        """
        import fcntl  # noqa: PLC0415 - not on Windows, where SQLite's own locks have to do

        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigurationError(
                f"the storage {self._database} cannot be written: {error.strerror}"
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            raise ConfigurationError(
                f"another process uses the storage {self._database}; several processes need "
                "PostgreSQL"
            ) from error
        self._handle = handle

    def release(self) -> None:
        """Let it go."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class Lease:
    """This process's lease, renewed four times as often as it has to be.

    Leases are measured by the database's clock alone, and only while the database answers: when no
    process has renewed its lease for half a lease, the database was away. The first one that renews
    its own after that gives all that were alive at the last renewal a full lease, `_MOST_GRACES`
    times at most without a renewal of their own; see `is_alive`.

    Args:
        commits: Writes it.
        process_id: This process.
        seconds: How long the process counts as alive without renewing the lease.
        figures: Count the leases that ended before they were renewed.
    """

    def __init__(
        self, commits: GroupCommit, process_id: str, seconds: float, figures: StorageFigures
    ) -> None:
        self._figures = figures
        self._commits = commits
        self.seconds = seconds
        self._process_id = process_id
        self._renewal: asyncio.Task[None] | None = None
        self._listeners: list[Callable[[], None]] = []
        self._renewed_at = self._lapsed_at = -math.inf
        self.quotas = Quotas()
        """Told with each renewal."""

    def listen(self, listener: Callable[[], None]) -> None:
        """Have `listener` called when the lease had ended before it was renewed."""
        self._listeners.append(listener)

    async def take(self) -> None:
        """Enter this process, and keep the entry as long as it lives."""
        began = time.monotonic()
        await self._commits.write(self._entry(), patience=LEASE_SECONDS)
        self._renewed_at = began
        self._renewal = asyncio.create_task(self._renew())

    def is_unbroken(self, since: float) -> bool:
        """Tell whether the lease has never ended since a time of `time.monotonic`."""
        now = time.monotonic()
        return self._lapsed_at < since and now - self._renewed_at <= self.seconds

    def _entry(self) -> RenewLease:
        taken = self.quotas.to_json()
        return RenewLease(self._process_id, process_name(), self.seconds, taken)

    async def _renew(self) -> None:
        began = self._renewed_at
        while True:
            await asyncio.sleep(began + self.seconds / 4 - time.monotonic())
            began = time.monotonic()
            with contextlib.suppress(Exception):  # the log knows
                told = await self._commits.write(self._entry(), patience=self.seconds / 4)
                self.quotas.update(told)
                late, self._renewed_at = began - self._renewed_at, began
                if late > self.seconds:
                    self._tell_of_lapse(late)

    def _tell_of_lapse(self, seconds: float) -> None:
        self._figures.leases_lost += 1
        self._lapsed_at = time.monotonic()
        logger.warning("the lease was not renewed for %.1f s: others may have our tasks", seconds)
        for listener in self._listeners:
            listener()

    async def give_back(self) -> None:
        """End the lease: what this process leaves unfinished is anybody's then."""
        if self._renewal is None:
            return
        self._renewal.cancel()
        await asyncio.wait([self._renewal], timeout=1)
        with contextlib.suppress(Exception):  # it ends by itself
            await self._commits.write(EndLease(self._process_id), patience=1)


class RenewLease(Write):
    """Says that a process lives, by the database's own clock; reads what others say beside that."""

    is_urgent = True
    """Without it all tasks of this process are taken over."""

    def __init__(self, process_id: str, name: str, seconds: float, taken: str) -> None:
        self.key = ("process", process_id)
        self.row = {"id": process_id, "name": name, "taken": taken}
        self.seconds = seconds

    @classmethod
    async def execute(
        cls, connection: AsyncConnection, writes: Sequence[RenewLease]
    ) -> Sequence[object]:
        """Renew them; there is one."""
        dialect = connection.dialect.name
        told: list[object] = []
        for write in writes:
            until = now_of(dialect) + write.seconds
            await connection.execute(_renew_all(dialect, write.seconds))
            statement = upsert(dialect, processes).values(**write.row, lease_until=until)
            changes = {"lease_until": until, "taken": write.row["taken"], "graces": 0}
            await connection.execute(
                statement.on_conflict_do_update(index_elements=["id"], set_=changes)
            )
            gone = func.abs(processes.c.lease_until) < until - 100 * write.seconds
            await connection.execute(delete(processes).where(gone))
            others = select(processes.c.taken).where(
                is_alive(dialect, write.seconds),
                processes.c.id != write.row["id"],
                processes.c.taken.is_not(None),
            )
            told.append(list(await connection.scalars(others)))
        return told


def _renew_all(dialect: str, seconds: float) -> Update:
    """Return what renews the leases that ended, or ran on, while the database was away."""
    interrupted = select(processes.c.id).where(_is_interrupted(dialect, seconds))
    in_order = interrupted.order_by(processes.c.id).with_for_update()  # else two could deadlock
    renewal = update(processes).where(processes.c.id.in_(in_order))
    return renewal.values(lease_until=now_of(dialect) + seconds, graces=_graces + 1)


class EndLease(Write):
    """Says that a process has ended."""

    order = 9
    """After all that it writes: then another process may have its tasks."""

    def __init__(self, process_id: str) -> None:
        self.key = ("process", process_id)
        self.process_id = process_id

    @classmethod
    async def execute(
        cls, connection: AsyncConnection, writes: Sequence[EndLease]
    ) -> Sequence[object]:
        """End them; there is one. Its name stays for a while, for those that take its tasks.

        A time below 0 is the end of a lease that no outage interrupts.
        """
        ended = -now_of(connection.dialect.name)
        for write in writes:
            mine = processes.c.id == write.process_id
            await connection.execute(update(processes).where(mine).values(lease_until=ended))
        return [None] * len(writes)


def now_of(dialect: str) -> ColumnElement[float]:
    """Return the database's clock, in seconds since 1970."""
    if dialect == "postgresql":
        return func.extract("epoch", func.clock_timestamp()).cast(processes.c.lease_until.type)
    return (func.julianday("now") - literal(2440587.5)) * literal(86400.0)


def is_alive(dialect: str, seconds: float) -> ColumnElement[bool]:
    """Return the condition that the lease of a process has not ended.

    Args:
        dialect: The database's.
        seconds: How long a lease is.
    """
    runs = processes.c.lease_until >= now_of(dialect)
    return or_(runs, _is_interrupted(dialect, seconds))


def _is_interrupted(dialect: str, seconds: float) -> ColumnElement[bool]:
    """Return the condition that the database was away, and a process alive at the last renewal."""
    every = processes.alias()
    renewed = select(func.max(every.c.lease_until)).scalar_subquery() - seconds
    until = processes.c.lease_until
    was_alive = and_(until > 0, until >= renewed, _graces < _MOST_GRACES)
    return and_(was_alive, renewed < now_of(dialect) - seconds / 2)


_graces = func.coalesce(processes.c.graces, 0)


def living(dialect: str, seconds: float) -> ScalarSelect[str]:
    """Return the ids of the processes whose lease has not ended; see `is_alive`."""
    return select(processes.c.id).where(is_alive(dialect, seconds)).scalar_subquery()
