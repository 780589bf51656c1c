"""Liveness of processes: a file lock for SQLite, renewable leases for PostgreSQL.

With each renewal, processes tell each other how much of their quotas owners use.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import os
import socket
import time
from collections import Counter
from typing import TYPE_CHECKING

from sqlalchemy import and_, delete, func, literal, or_, select, update

from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters_sql.commit import Write
from a2a_adapters_sql.schema import processes, upsert

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from sqlalchemy import ColumnElement, ScalarSelect, Update
    from sqlalchemy.ext.asyncio import AsyncConnection

    from a2a_adapters.storage.interface import SharedQuota
    from a2a_adapters_sql.commit import GroupCommit
    from a2a_adapters_sql.figures import StorageFigures

_MOST_GRACES = 3
"""Number of times that others extend a lease after outages. A live process renews its own within
seconds after an outage; without this limit, processes that crash soon after startup would keep
dead ones alive forever."""

LEASE_SECONDS = 10.0
"""Default time until an unrenewed lease expires."""

logger = logging.getLogger(__name__)


def process_name() -> str:
    """Return the name of this process in logs: its host and process id."""
    return f"{socket.gethostname()}:{os.getpid()}"


class FileLock:
    """Lock of the process that uses a SQLite file; the kernel releases it with the process.

    Args:
        path: The database file; the lock file is next to it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ".lock")
        self._database = path
        self._handle: int | None = None

    def take(self) -> None:
        """Take the lock.

        Raises:
            ConfigurationError: Another process holds it, or the file is not writable.
        """
        import fcntl  # noqa: PLC0415 - not on Windows, where SQLite's own locks have to do

        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigurationError(
                f"cannot write the storage {self._database}: {error.strerror}"
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            raise ConfigurationError(
                f"another process uses the storage {self._database}; to share it, use PostgreSQL"
            ) from error
        self._handle = handle

    def release(self) -> None:
        """Release the lock."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class Lease:
    """This process's lease, renewed four times per lease period.

    Leases expire by the database's clock, and only while the database is available: if no
    process has renewed its lease for half a period, there was an outage. The first renewal after
    it extends all leases that were alive before by a full period, at most `_MOST_GRACES`
    times between renewals by their own process; see `is_alive`.

    Args:
        commits: Writes the lease.
        process_id: This process.
        seconds: The lease period.
        figures: Count expired leases.
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
        """The quotas of all agents, whose use is told to other processes with each renewal."""

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` when the lease has expired before its renewal."""
        self._listeners.append(listener)

    async def take(self) -> None:
        """Take the lease and keep renewing it."""
        began = time.monotonic()
        await self._commits.write(self._entry(), patience=LEASE_SECONDS)
        self._renewed_at = began
        self._renewal = asyncio.create_task(self._renew())

    def is_unbroken(self, since: float) -> bool:
        """Return whether the lease has been held since a time of `time.monotonic`."""
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
            with contextlib.suppress(Exception):  # already logged
                shared = await self._commits.write(self._entry(), patience=self.seconds / 4)
                self.quotas.update(shared)
                late, self._renewed_at = began - self._renewed_at, began
                if late > self.seconds:
                    self._report_lapse(late)

    def _report_lapse(self, seconds: float) -> None:
        self._figures.leases_lost += 1
        self._lapsed_at = time.monotonic()
        logger.warning(
            "the lease was not renewed for %.1f s: other processes may have taken over tasks",
            seconds,
        )
        for listener in self._listeners:
            listener()

    async def give_back(self) -> None:
        """End the lease, so that other processes can take over unfinished tasks."""
        if self._renewal is None:
            return
        self._renewal.cancel()
        await asyncio.wait([self._renewal], timeout=1)
        with contextlib.suppress(Exception):  # it expires anyway
            await self._commits.write(EndLease(self._process_id), patience=1)


class RenewLease(Write):
    """Renews a lease by the database's clock, and reads the usage that other processes report."""

    is_urgent = True
    """Delaying it would let others take over this process's tasks."""

    def __init__(self, process_id: str, name: str, seconds: float, taken: str) -> None:
        self.key = ("process", process_id)
        self._row = {"id": process_id, "name": name, "taken": taken}
        self._seconds = seconds

    async def execute_one(self, connection: AsyncConnection) -> list[str]:
        """Renew the lease; return the usage that live processes report with theirs."""
        dialect = connection.dialect.name
        until = now_of(dialect) + self._seconds
        await connection.execute(_renew_all(dialect, self._seconds))
        statement = upsert(dialect, processes).values(**self._row, lease_until=until)
        changes = {"lease_until": until, "taken": self._row["taken"], "graces": 0}
        await connection.execute(
            statement.on_conflict_do_update(index_elements=["id"], set_=changes)
        )
        is_expired = func.abs(processes.c.lease_until) < until - 100 * self._seconds
        await connection.execute(delete(processes).where(is_expired))
        others = select(processes.c.taken).where(
            is_alive(dialect, self._seconds),
            processes.c.id != self._row["id"],
            processes.c.taken.is_not(None),
        )
        return list(await connection.scalars(others))


def _renew_all(dialect: str, seconds: float) -> Update:
    """Return the statement that extends leases after an outage."""
    interrupted = select(processes.c.id).where(_is_interrupted(dialect, seconds))
    in_order = interrupted.order_by(processes.c.id).with_for_update()  # prevents deadlocks
    renewal = update(processes).where(processes.c.id.in_(in_order))
    return renewal.values(lease_until=now_of(dialect) + seconds, graces=_graces + 1)


class EndLease(Write):
    """Ends the lease of a process."""

    order = 9
    """Last, because afterwards another process may take its tasks."""

    def __init__(self, process_id: str) -> None:
        self.key = ("process", process_id)
        self._process_id = process_id

    async def execute_one(self, connection: AsyncConnection) -> None:
        """End the lease. Its row stays for a while, to name the process in takeovers.

        A negative time marks an ended lease, which outages do not extend.
        """
        ended = -now_of(connection.dialect.name)
        mine = processes.c.id == self._process_id
        await connection.execute(update(processes).where(mine).values(lease_until=ended))


def now_of(dialect: str) -> ColumnElement[float]:
    """Return the database's time in seconds since 1970."""
    if dialect == "postgresql":
        return func.extract("epoch", func.clock_timestamp()).cast(processes.c.lease_until.type)
    return (func.julianday("now") - literal(2440587.5)) * literal(86400.0)


def is_alive(dialect: str, seconds: float) -> ColumnElement[bool]:
    """Return the condition that a process's lease has not expired.

    Args:
        dialect: Name of the dialect.
        seconds: The lease period.
    """
    runs = processes.c.lease_until >= now_of(dialect)
    return or_(runs, _is_interrupted(dialect, seconds))


def _is_interrupted(dialect: str, seconds: float) -> ColumnElement[bool]:
    """Return the condition that an outage interrupted the lease of a live process."""
    every = processes.alias()
    renewed = select(func.max(every.c.lease_until)).scalar_subquery() - seconds
    until = processes.c.lease_until
    was_alive = and_(until > 0, until >= renewed, _graces < _MOST_GRACES)
    return and_(was_alive, renewed < now_of(dialect) - seconds / 2)


_graces = func.coalesce(processes.c.graces, 0)


def living(dialect: str, seconds: float) -> ScalarSelect[str]:
    """Return the ids of the processes with an unexpired lease; see `is_alive`."""
    return select(processes.c.id).where(is_alive(dialect, seconds)).scalar_subquery()


class Quotas:
    """The shared quotas of all agents of a process."""

    def __init__(self) -> None:
        self._quotas: dict[str, SharedQuota] = {}

    def share(self, name: str, quota: SharedQuota) -> None:
        """Exchange the usage of a quota with the other processes."""
        self._quotas[name] = quota

    def to_json(self) -> str:
        """Return the usage here, for the other processes."""
        return json.dumps({name: dict(quota.shares()) for name, quota in self._quotas.items()})

    def update(self, received: Iterable[str]) -> None:
        """Adopt the usage that the other processes report."""
        processes = [json.loads(text) for text in received]
        for name, quota in self._quotas.items():
            others: Counter[str] = Counter()
            for process in processes:
                others.update(process.get(name, {}))
            quota.others = others
