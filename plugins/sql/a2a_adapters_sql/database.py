"""A process's connection to the database: reads, group commit, lease and bus."""

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
from a2a_adapters_sql.replicas.bus import Heartbeat
from a2a_adapters_sql.schema import processes, tasks
from a2a_adapters_sql.schema_version import HEAD, current_version
from a2a_adapters_sql.totals import Totals

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from sqlalchemy import ColumnElement, Connection, Executable, Row
    from sqlalchemy.ext.asyncio import AsyncEngine

    from a2a_adapters_sql.replicas.batches import BatchBus

T = TypeVar("T")

_PAUSE = 0.2
"""Seconds between attempts of a read."""

_ALLOWED: ColumnElement[int] = literal_column(
    "current_setting('max_connections')::int"
    " - current_setting('superuser_reserved_connections')::int"
)
"""Number of connections allowed by PostgreSQL."""

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


def _migrate(connection: Connection) -> None:
    """Create or migrate the tables, unless they have the schema of this release."""
    if current_version(connection) != HEAD:
        from a2a_adapters_sql.migrate import upgrade  # noqa: PLC0415 - imports Alembic

        upgrade(connection)


class Database:
    """A database in use by this process.

    Args:
        url: Its URL, such as `sqlite:///agents.db` or `postgresql://host/name`.
        lease_seconds: Time in seconds until an unrenewed lease expires.
        bus: URL of a Redis that carries the bus; None uses the database.

    Raises:
        ConfigurationError: A URL is invalid.
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
        """The unavailable part: `storage`, `bus`, or ""."""
        if not self.health.is_ready:
            return "storage"
        return "" if self.bus is None or self.bus.is_ready else "bus"

    @property
    def is_shared(self) -> bool:
        """Whether other processes may use it concurrently."""
        return self._file_lock is None

    async def start(self) -> None:
        """Connect, migrate the tables, and take a lease.

        Raises:
            ConfigurationError: The database is unusable; the message omits the password.
        """
        if self._file_lock is not None:
            self._file_lock.take()
        try:
            async with asyncio.timeout(2 * PATIENCE_SECONDS), self.engine.begin() as connection:
                await connection.run_sync(_migrate)
            self.health.is_ready = True
            self.commits.start()
            if self.bus is not None and self._heartbeat is not None:
                await self._start(self.bus, self._heartbeat)
            await self.lease.take()
            if self.bus is not None:
                await self._check_connections(self.bus.connections + CONNECTIONS)
        except (SQLAlchemyError, OSError) as error:  # includes TimeoutError
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
            raise ConfigurationError(f"{bus.name} does not deliver messages{bus.advice}") from error

    async def _check_connections(self, most: int) -> None:
        """Warn if the live processes may exceed PostgreSQL's connection limit."""
        alive = is_alive(self.engine.dialect.name, self.lease.seconds)
        query = select(_ALLOWED, func.count()).select_from(processes).where(alive)
        async with asyncio.timeout(PATIENCE_SECONDS), self.engine.connect() as connection:
            allowed, count = (await connection.execute(query)).one()
        if allowed < most * count:
            logger.warning(
                "%d processes with up to %d connections each exceed PostgreSQL's limit of %d: "
                "raise its max_connections",
                count,
                most,
                allowed,
            )

    async def read(self, query: Executable) -> Sequence[Row[Any]]:
        """Return the rows of a query.

        Raises:
            InvalidParamsError: The database cannot represent a value of the query.
            StorageUnavailableError: The database did not answer in time.
        """
        try:
            async with fair_timeout(PATIENCE_SECONDS):
                return await (self._read(query) if self.is_shared else self._read_whole(query))
        except TimeoutError as error:
            self.health.suspect("it takes too long")
            raise StorageUnavailableError from error

    async def _read_whole(self, query: Executable) -> Sequence[Row[Any]]:
        """Finish the read even if the caller is cancelled.

        SQLAlchemy may lose an aiosqlite connection whose statement is cancelled; its thread
        then fails on the closed event loop.
        """
        reading = asyncio.ensure_future(self._read(query))
        self._reads.add(reading)
        reading.add_done_callback(self._reads.discard)
        reading.add_done_callback(let_fail)
        return await asyncio.shield(reading)

    async def _read(self, query: Executable) -> Sequence[Row[Any]]:
        """Return the rows of a query, retrying until the database is available."""
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
                if self._is_closed:  # it may have connected after the others were closed
                    await self.engine.dispose()
        raise StorageUnavailableError

    async def looked_at(self, look: Callable[[Connection], T]) -> T:
        """Inspect the database with a function, without migrating it or taking a lease.

        Raises:
            ConfigurationError: The database cannot be reached.
        """
        try:
            async with asyncio.timeout(2 * PATIENCE_SECONDS), self.engine.connect() as connection:
                return await connection.run_sync(look)
        except (SQLAlchemyError, OSError) as error:
            raise self._unusable(error) from error

    async def every_task(self) -> AsyncGenerator[tuple[str, str, bytes]]:
        """Yield agent, owner and serialised bytes of every task.

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
        return ConfigurationError(f"cannot use the storage {self.name}: {cause}")

    async def write(self, write: Write, patience: float | None = None) -> Any:
        """Execute a write; see `GroupCommit.write`."""
        return await self.commits.write(write, patience)

    async def aclose(self, seconds: float) -> None:
        """Finish pending writes, at most `seconds`, and disconnect."""
        until = time.monotonic() + seconds
        await self.commits.drain(seconds)  # before other processes may take its tasks
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
        with contextlib.suppress(Exception):  # a hanging connection is abandoned
            async with asyncio.timeout(1):
                await self.engine.dispose()
        if self._connections is not None:
            await self._connections.aclose()
        if self._file_lock is not None:
            self._file_lock.release()
