"""One process's way to a database: reads, group commit, and its place among the processes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from a2a.utils.errors import InvalidParamsError
from sqlalchemy import func, literal_column, select
from sqlalchemy.exc import SQLAlchemyError

from a2a_adapters.concurrency import end_if_cancelled
from a2a_adapters.concurrency.background import let_fail
from a2a_adapters.contract.errors import ConfigurationError, MissingExtraError
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.protocol.messages import new_id
from a2a_adapters.storage.interface import PATIENCE_SECONDS
from a2a_adapters_sql.alarm import fair_timeout
from a2a_adapters_sql.commit import GroupCommit, Write
from a2a_adapters_sql.connections import Connections
from a2a_adapters_sql.engine import (
    CONNECTIONS,
    is_away,
    is_data_error,
    make_bulk,
    make_engine,
    parse_url,
    shown,
)
from a2a_adapters_sql.figures import StorageFigures
from a2a_adapters_sql.health import Health
from a2a_adapters_sql.lease import LEASE_SECONDS, FileLock, Lease, is_alive
from a2a_adapters_sql.migrate import upgrade
from a2a_adapters_sql.replicas.bus import Heartbeat
from a2a_adapters_sql.schema import processes, tasks
from a2a_adapters_sql.totals import Totals

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from sqlalchemy import ColumnElement, Connection, Executable, Row
    from sqlalchemy.ext.asyncio import AsyncEngine

    from a2a_adapters_sql.replicas.batches import BatchBus

T = TypeVar("T")

_PAUSE = 0.2
"""Seconds between attempts to read."""

_ALLOWED: ColumnElement[int] = literal_column(
    "current_setting('max_connections')::int"
    " - current_setting('superuser_reserved_connections')::int"
)
"""How many connections PostgreSQL allows."""

logger = logging.getLogger(__name__)


def _bus(url: str | None, engine: AsyncEngine, process_id: str) -> BatchBus:
    if url is None:
        from a2a_adapters_sql.replicas.notify import NotifyBus  # noqa: PLC0415 - PostgreSQL's driver

        return NotifyBus(engine, process_id)
    try:
        from a2a_adapters_sql.replicas.redis_bus import RedisBus  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("a bus over Redis", "redis") from error
    return RedisBus(url, process_id)


class Database:
    """A database while a process uses it.

    Args:
        url: Where it is, as in `sqlite:///agents.db` or `postgresql://host/name`.
        lease_seconds: How long a process that does not renew its lease counts as alive.
        bus: The URL of the Redis by which the processes talk; None is by the database itself.

    Raises:
        ConfigurationError: A URL is wrong.
        MissingExtraError: A driver is not installed.
    """

    def __init__(
        self, url: str, lease_seconds: float = LEASE_SECONDS, bus: str | None = None
    ) -> None:
        self._url = parse_url(url)
        self.name = shown(self._url)
        self.engine = make_engine(self._url)
        self.process_id = new_id()
        self.figures = StorageFigures()
        self.health = Health(self.name)
        self.totals = Totals(self.engine)
        bulk = make_bulk(self._url, self.engine)
        self.commits = GroupCommit(self.engine, bulk, self.health, self.figures)
        self._file_lock = (
            FileLock(Path(self._url.database or "")) if self._url.drivername[0] == "s" else None
        )
        self._connections = None if self._file_lock else Connections(self.engine)
        self.bus = None if self._file_lock else _bus(bus, self.engine, self.process_id)
        self._heartbeat = Heartbeat(self.bus, self.process_id, self.figures) if self.bus else None
        self.lease = Lease(self.commits, self.process_id, lease_seconds, self.figures)
        self._reads: set[asyncio.Future[Sequence[Row[Any]]]] = set()
        self._is_closed = False

    @property
    def away(self) -> str:
        """What cannot be used now: `storage`, or the `bus` to the other processes; else empty."""
        if not self.health.is_ready:
            return "storage"
        return "" if self.bus is None or self.bus.is_ready else "bus"

    @property
    def is_shared(self) -> bool:
        """Whether other processes may use it at the same time."""
        return self._file_lock is None

    async def start(self) -> None:
        """Connect, bring the tables up to date, and take a place among the processes.

        Raises:
            ConfigurationError: It cannot be reached or used, in one line without the password.
        """
        if self._file_lock is not None:
            self._file_lock.take()
        try:
            async with asyncio.timeout(2 * PATIENCE_SECONDS), self.engine.begin() as connection:
                await connection.run_sync(upgrade)
            self.health.is_ready = True
            self.commits.start()
            if self.bus is not None and self._heartbeat is not None:
                await self._start(self.bus, self._heartbeat)
            await self.lease.take()
            if self.bus is not None:
                await self._check_connections(self.bus.connections + CONNECTIONS)
        except (SQLAlchemyError, OSError) as error:  # TimeoutError is one of the latter
            await self.release()
            raise self._unusable(error) from error
        except ConfigurationError:
            await self.release()
            raise

    async def _start(self, bus: BatchBus, heartbeat: Heartbeat) -> None:
        try:
            async with asyncio.timeout(2 * PATIENCE_SECONDS):
                await bus.start()
        except TimeoutError as error:
            raise ConfigurationError(f"{bus.name} cannot be reached") from error
        try:
            async with asyncio.timeout(2 * PATIENCE_SECONDS):
                await heartbeat.start()
        except TimeoutError as error:
            raise ConfigurationError(f"{bus.name} delivers nothing{bus.advice}") from error

    async def _check_connections(self, most: int) -> None:
        """Warn if the living processes may use more connections than PostgreSQL allows."""
        alive = is_alive(self.engine.dialect.name, self.lease.seconds)
        query = select(_ALLOWED, func.count()).select_from(processes).where(alive)
        async with asyncio.timeout(PATIENCE_SECONDS), self.engine.connect() as connection:
            allowed, count = (await connection.execute(query)).one()
        if allowed < most * count:
            logger.warning(
                "%d processes with up to %d connections each share a PostgreSQL that allows %d: "
                "raise its max_connections",
                count,
                most,
                allowed,
            )

    async def read(self, query: Executable) -> Sequence[Row[Any]]:
        """Return the rows of a query.

        Raises:
            InvalidParamsError: The database cannot compare with the values of the query.
            StorageUnavailableError: They could not be read in time.
        """
        try:
            async with fair_timeout(PATIENCE_SECONDS):
                return await (self._read(query) if self.is_shared else self._read_whole(query))
        except TimeoutError as error:
            self.health.suspect("it takes too long")
            raise StorageUnavailableError from error

    async def _read_whole(self, query: Executable) -> Sequence[Row[Any]]:
        """Read to the end even if the caller is cancelled.

        SQLAlchemy may lose a connection of aiosqlite whose statement is cancelled; the thread of
        that connection then fails on the closed event loop.
        """
        reading = asyncio.ensure_future(self._read(query))
        self._reads.add(reading)
        reading.add_done_callback(self._reads.discard)
        reading.add_done_callback(let_fail)
        return await asyncio.shield(reading)

    async def _read(self, query: Executable) -> Sequence[Row[Any]]:
        """Return the rows of a query, however long it takes until the database is back."""
        while not self._is_closed:
            began = time.monotonic()
            try:
                async with self.engine.connect() as connection:
                    rows = (await connection.execute(query)).all()
            except (SQLAlchemyError, OSError, OverflowError, UnicodeError) as error:
                end_if_cancelled()
                if is_data_error(error):
                    raise InvalidParamsError("a value cannot be stored") from error
                self.health.failed(error)
                if not is_away(error):
                    raise StorageUnavailableError from error
                await asyncio.sleep(_PAUSE)
            else:
                self.figures.read_seconds.add(time.monotonic() - began)
                return rows
            finally:
                if self._is_closed:  # it may have been connected after all others were closed
                    await self.engine.dispose()
        raise StorageUnavailableError

    async def looked_at(self, look: Callable[[Connection], T]) -> T:
        """Return what a function says of the database as it is, without taking part in it.

        Raises:
            ConfigurationError: It cannot be reached.
        """
        try:
            async with asyncio.timeout(2 * PATIENCE_SECONDS), self.engine.connect() as connection:
                return await connection.run_sync(look)
        except (SQLAlchemyError, OSError) as error:
            raise self._unusable(error) from error

    async def every_task(self) -> AsyncGenerator[tuple[str, str, bytes]]:
        """Yield agent, owner and bytes of every task.

        Raises:
            ConfigurationError: The database cannot be reached.
        """
        query = select(tasks.c.agent, tasks.c.owner_name, tasks.c.body)
        order = tasks.c.agent, tasks.c.owner, tasks.c.id
        try:
            async with self.engine.connect() as connection:
                async for row in await connection.stream(query.order_by(*order)):
                    yield row.agent, row.owner_name.decode(), row.body
        except (SQLAlchemyError, OSError) as error:
            raise self._unusable(error) from error

    def _unusable(self, error: SQLAlchemyError | OSError) -> ConfigurationError:
        cause = " ".join(str(getattr(error, "orig", None) or error).split()) or "no answer"
        return ConfigurationError(f"the storage {self.name} cannot be used: {cause}")

    async def write(self, write: Write, patience: float | None = None) -> Any:
        """Write something with whatever else is due; as `GroupCommit.write`."""
        return await self.commits.write(write, patience)

    async def aclose(self, seconds: float) -> None:
        """Write what is left, so many seconds long at most, and disconnect."""
        until = time.monotonic() + seconds
        await self.commits.drain(seconds)  # before others may have what it writes
        await self.lease.give_back()
        await self.commits.aclose(max(0, until - time.monotonic()))
        await self.release()

    async def release(self) -> None:
        """Disconnect."""
        if self._reads:
            await asyncio.wait(self._reads, timeout=1)
        self._is_closed = True
        self.health.close()
        self.totals.close()
        if self._heartbeat is not None:
            self._heartbeat.close()
        if self.bus is not None:
            await self.bus.aclose()
        with contextlib.suppress(Exception):  # a connection that hangs is left behind
            async with asyncio.timeout(1):
                await self.engine.dispose()
        if self._connections is not None:
            await self._connections.aclose()
        if self._file_lock is not None:
            self._file_lock.release()
