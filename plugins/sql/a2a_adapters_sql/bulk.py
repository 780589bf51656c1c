"""Bulk writes through the driver, which avoids SQLAlchemy's overhead per statement.

SQLite is checkpointed in a background thread, because the writer would block on the disk.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import BigInteger, bindparam, func, select

from a2a_adapters.concurrency.threads import ThreadPool
from a2a_adapters_sql.connections import break_off

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from sqlalchemy import Delete, Dialect, Engine, Insert, Select, Update
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

_CLOSE_SECONDS = 1.0

LOG_PAGES = 8_000
"""Size of the log (32 MB) at which SQLite checkpoints during a commit.

A background checkpoint beside a busy writer never resets the log, so this limit is needed."""

_CHECKPOINT_ROWS = 1_500
"""Rows between checkpoints; reached before the log has that many pages."""


class Rows(NamedTuple):
    """A statement and the values of the rows it writes or must match."""

    statement: Insert | Update | Delete | Select[Any]
    """Must be a shared object, because it is compiled once."""
    values: Sequence[Mapping[str, Any]]


class Bulk(ABC):
    """Writes rows in one transaction.

    Args:
        dialect: Compiles the statements.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._prepared: dict[object, _Prepared] = {}

    async def write(self, batch: Sequence[Rows]) -> bool:
        """Write all rows, or none if a statement affects fewer rows than given.

        Returns:
            Whether the rows were written.
        """
        return await self._write([self._driven(rows) for rows in batch])

    @abstractmethod
    async def _write(self, batch: Sequence[_Driven]) -> bool:
        """Write prepared statements, or return False."""

    @abstractmethod
    async def aclose(self) -> None:
        """Disconnect."""

    def _driven(self, rows: Rows) -> _Driven:
        prepared = self._prepared.get(rows.statement)
        if prepared is None:
            prepared = _Prepared(rows.statement, self.dialect, rows.values[0])
            self._prepared[rows.statement] = prepared
        return prepared.text, [prepared.parameters(row) for row in rows.values]


_Driven = tuple[str, list[Any]]
"""A driver statement and its parameters for every row."""


class _Prepared:
    """A statement compiled for a driver."""

    def __init__(
        self,
        statement: Insert | Update | Delete | Select[Any],
        dialect: Dialect,
        row: Mapping[str, Any],
    ) -> None:
        compiled: Any = statement.compile(dialect=dialect, column_keys=list(row))
        self.text: str = compiled.string
        names = compiled.positiontup if compiled.positional else compiled.params
        types = {name: bind.type for bind, name in compiled.bind_names.items()}
        converters = {
            name: kind.dialect_impl(dialect).bind_processor(dialect) for name, kind in types.items()
        }
        self._names = None if compiled.positional else list(names)
        self._places = [(name, converters.get(name)) for name in names]
        self._constants = {n: value for n, value in compiled.params.items() if n not in row}

    def parameters(self, row: Mapping[str, Any]) -> Any:
        """Return the values of a row in the driver's format."""
        if self._constants:
            row = {**self._constants, **row}
        values = [convert(row[name]) if convert else row[name] for name, convert in self._places]
        return values if self._names is None else dict(zip(self._names, values, strict=True))


class PostgresqlBulk(Bulk):
    """Pipelines all statements on a dedicated connection."""

    def __init__(self, engine: AsyncEngine) -> None:
        super().__init__(engine.dialect)
        self._engine = engine
        self._connection: AsyncConnection | None = None
        self._driver: Any = None

    async def _write(self, batch: Sequence[_Driven]) -> bool:
        try:
            driver = self._driver or await self._connected()
            cursors = [driver.cursor() for _ in batch]
            async with driver.pipeline():
                for cursor, (text, rows) in zip(cursors, batch, strict=True):
                    await cursor.executemany(text, rows)
            written = [cursor.rowcount for cursor in cursors]
            is_whole = written == [len(rows) for _, rows in batch]
            await (driver.commit() if is_whole else driver.rollback())
        except BaseException:
            await self.aclose()
            raise
        return is_whole

    async def _connected(self) -> Any:
        self._connection = await self._engine.connect()
        self._driver = (await self._connection.get_raw_connection()).driver_connection
        return self._driver

    async def aclose(self) -> None:
        """Abort the connection."""
        connection, self._connection = self._connection, None
        driver, self._driver = self._driver, None
        if driver is not None:
            await break_off(driver)  # first, so that the pool does not hand it out
        if connection is not None:
            await connection.invalidate()
            await connection.close()


class SqliteBulk(Bulk):
    """Runs a whole batch in one thread hop, which costs more than a statement."""

    def __init__(self, engine: Engine, checkpoints: Checkpoints) -> None:
        super().__init__(engine.dialect)
        self.engine = engine
        self._checkpoints = checkpoints
        self._thread = ThreadPool(1, "a2a-adapters-sqlite")

    async def _write(self, batch: Sequence[_Driven]) -> bool:
        attempt = _Attempt(self.engine, batch)
        try:
            loop = asyncio.get_running_loop()
            is_written = await loop.run_in_executor(self._thread, attempt.run)
        finally:
            attempt.is_awaited = False
        if is_written:
            self._checkpoints.committed(sum(len(rows) for _, rows in batch))
        return is_written

    async def aclose(self) -> None:
        """Disconnect after the running transaction, waiting briefly for it."""
        self._checkpoints.close()
        disposing = self._thread.submit(self.engine.dispose)
        disposing.add_done_callback(lambda _: self._thread.shutdown())
        await asyncio.wait([asyncio.wrap_future(disposing)], timeout=_CLOSE_SECONDS)


class _Attempt:
    """A transaction that is rolled back if its caller has given up."""

    is_awaited = True

    def __init__(self, engine: Engine, batch: Sequence[_Driven]) -> None:
        self._engine = engine
        self._batch = batch

    def run(self) -> bool:
        connection = self._engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute("BEGIN IMMEDIATE")
            for text, rows in self._batch:
                cursor.executemany(text, rows)
                if cursor.rowcount != len(rows):
                    return False
            if self.is_awaited:
                connection.commit()
            return self.is_awaited
        finally:
            connection.close()  # rolls back uncommitted changes


_LOCK = select(func.pg_advisory_xact_lock(bindparam("its_lock", type_=BigInteger)))
"""Advisory lock held until the end of the transaction."""


def locking(locks: Iterable[int]) -> list[Rows]:
    """Return the statements that take locks, sorted to prevent deadlocks."""
    values = [{"its_lock": lock} for lock in sorted(set(locks))]
    return [Rows(_LOCK, values)] if values else []


async def take_locks(connection: AsyncConnection, locks: Sequence[Rows]) -> None:
    """Take locks in order, waiting for each."""
    for rows in locks:
        for values in rows.values:
            await connection.execute(rows.statement, values)


class Checkpoints:
    """Moves committed pages from SQLite's log into the database file.

    Args:
        engine: The database, without connection pooling.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._thread = ThreadPool(1, "a2a-adapters-checkpoint")
        self._last: Future[None] | None = None
        self._rows = 0

    def committed(self, rows: int) -> None:
        """Count committed rows; start a checkpoint if one is due."""
        self._rows += rows
        if self._rows >= _CHECKPOINT_ROWS and (self._last is None or self._last.done()):
            self._rows = 0
            self._last = self._thread.submit(self._make)

    def close(self) -> None:
        """Start no further checkpoints."""
        self._thread.shutdown()

    def _make(self) -> None:
        with closing(self._engine.raw_connection()) as connection:
            connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
