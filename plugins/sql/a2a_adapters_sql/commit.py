"""Group commit: one writer per process puts what is due of all tasks into one transaction."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from abc import ABC, abstractmethod
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import DataError, IntegrityError, ProgrammingError, StatementError

from a2a_adapters.concurrency import end_if_cancelled
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters_sql.alarm import Alarm, fair_timeout
from a2a_adapters_sql.bulk import locking, take_locks
from a2a_adapters_sql.engine import STATEMENT_SECONDS, is_away

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import TypeAlias

    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

    from a2a_adapters_sql.bulk import Bulk, Rows
    from a2a_adapters_sql.figures import StorageFigures
    from a2a_adapters_sql.health import Health

    _Batch: TypeAlias = list[tuple["Write", asyncio.Future[Any]]]

_MOST = 500
"""How many writes go into one transaction."""

_TURNS = 3
"""How many turns of the event loop a transaction waits for others: what the last one has told is
answered in these. An idle loop takes microseconds for them."""

_PAUSES = (0.05, 0.2, 0.5, 1.0)
"""Seconds between attempts while the database is away; the last one goes on."""

_LARGE_BYTES = 1 << 20
"""What is larger is written apart."""

_BYTES_PER_SECOND = 1 << 20
"""What a database writes at least; one that takes longer gets more time with each attempt."""

_MOST_DOUBLED = 10
"""How often the time for a write is doubled."""

_APART = 3
"""How many writes are written apart at once."""

_REFUSALS = (DataError, IntegrityError, ProgrammingError, StatementError)
"""What is wrong with a write itself, whenever it is tried."""

logger = logging.getLogger(__name__)


class Write(ABC):
    """Something to write. Those of one kind are written by one statement.

    Writing one twice must be the same as once: a commit whose answer is lost is repeated.
    """

    key: tuple[str, ...]
    """What it writes. Two writes of one key come one after the other, in their order."""

    order = 0
    """Kinds of a lower order are written first."""

    locks: Collection[int] = ()
    """What its transaction locks before it writes anything: who waits for a lock has none of
    anything else."""

    size = 0
    """How many bytes it is at least, if these are many."""

    is_urgent = False
    """Whether it is never written apart, where it would wait for what is large."""

    was_tried = False
    """Whether it may have been written, though nobody knows."""

    attempts = 0
    """How often it has taken too long by itself."""

    @classmethod
    def rows(cls, dialect: str, writes: Sequence[Any]) -> Sequence[Rows] | None:  # noqa: ARG003
        """Return all rows that have to be written for them; None leaves them to `execute`.

        If each of these rows can be written, no caller gets a result; if not, none is, and
        `execute` finds out for whom something is in the way.
        """
        return None

    @classmethod
    @abstractmethod
    async def execute(cls, connection: AsyncConnection, writes: Sequence[Any]) -> Sequence[object]:
        """Write them all; return what each one's caller gets, or is raised there."""

    def undo(self) -> Write | None:
        """Return what takes it back, in case nobody waited for its result."""
        return None


class GroupCommit:
    """Writes what it is given, in bulk.

    A write that the database refuses fails alone. While the database is away, writes are tried
    again until it is back; a caller waits as long as its patience lasts.

    Args:
        engine: The database.
        bulk: Writes rows to it.
        health: Told whether the database can be written.
        figures: Told how long that takes, and how much waits for it.
    """

    def __init__(
        self, engine: AsyncEngine, bulk: Bulk, health: Health, figures: StorageFigures
    ) -> None:
        self._figures = figures
        self._engine = engine
        self._dialect = engine.dialect.name
        self.bulk = bulk
        self._health = health
        self._waiting: deque[tuple[Write, asyncio.Future[Any]]] = deque()
        self._batch: _Batch = []
        """What is being written."""
        self._wake = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None
        self._most = _MOST
        self._is_closed = False
        self._apart: dict[tuple[str, ...], asyncio.Task[None]] = {}
        """What is large or slow, by its key: it holds up no others."""
        self._apart_at_once = asyncio.Semaphore(_APART)
        self.transactions = 0

    def start(self) -> None:
        """Begin to write what comes."""
        self._worker = asyncio.create_task(self._run())

    async def drain(self, seconds: float) -> None:
        """Wait until nothing is left to write, so many seconds long at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while left := self._left():
                    await asyncio.wait(left)

    def _left(self) -> list[asyncio.Future[Any]]:
        waiting = [future for _, future in [*self._batch, *self._waiting] if not future.done()]
        return [*waiting, *self._apart.values()]

    async def aclose(self, seconds: float) -> None:
        """Write what is left, so many seconds long at most; once is enough."""
        self._is_closed = True
        worker, self._worker = self._worker, None
        if worker is None:
            return
        await self.drain(seconds)
        workers = [worker, *self._apart.values()]
        for worker in workers:
            worker.cancel()
        await asyncio.wait(workers, timeout=1)
        if self._waiting:
            logger.error("%d writes were left behind: the database is away", len(self._waiting))
        for _, future in self._waiting:
            _refuse(future)
        await self.bulk.aclose()

    async def write(self, write: Write, patience: float | None = None) -> Any:
        """Write something and return its result once it is committed.

        Args:
            write: What to write.
            patience: How many seconds to wait for that, and more for what is large; None waits
                until the database is back.

        Raises:
            StorageUnavailableError: It could not be written in that time, and will not be.
            Exception: The database refuses it.
        """
        if self._is_closed:
            raise StorageUnavailableError
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((write, future))
        self._figures.waiting_writes = len(self._waiting)
        self._wake.set()
        if patience is None:
            return await future
        alarm = Alarm(patience + _seconds(write), partial(self._give_up, future))
        try:
            return await future
        finally:
            alarm.cancel()

    def _give_up(self, future: asyncio.Future[Any]) -> None:
        """Have somebody wait no longer."""
        if not future.done():
            self._health.suspect("it takes too long")
            _refuse(future)

    async def _run(self) -> None:
        failures = 0
        while True:
            await self._wake.wait()
            self._wake.clear()
            while batch := await self._gathered():
                self._batch = left = batch
                try:
                    left = await self._commit(batch)
                    end_if_cancelled()
                except asyncio.CancelledError:
                    self._waiting.extendleft(reversed(left))
                    raise
                finally:
                    self._batch = []
                if not left:
                    failures = 0
                    self._most = min(_MOST, 2 * self._most)
                    continue
                # It may have been too much for the time that a transaction has.
                self._most = max(1, len(batch) // 2)
                self._waiting.extendleft(reversed(left))
                await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])
                failures += 1

    async def _gathered(self) -> _Batch:
        """Return what goes into the next transaction, with what becomes due at the same time."""
        if self._waiting:
            for _ in range(_TURNS):
                await asyncio.sleep(0)
        return self._take()

    def _take(self) -> _Batch:
        """Return what goes into the next transaction: of one key, only the first.

        What is large or slow goes into one of its own.
        """
        taken: _Batch = []
        later: _Batch = []
        keys = set(self._apart)
        while self._waiting and len(taken) < self._most:
            write, future = self._waiting.popleft()
            if future.done():  # nobody waits for it any more
                undo = write.undo() if write.was_tried else None
                if undo is None:
                    continue
                write, future = undo, asyncio.get_running_loop().create_future()
            if write.key in keys:
                later.append((write, future))
            elif write.attempts or write.size > _LARGE_BYTES:
                self._apart[write.key] = asyncio.create_task(self._write_apart(write, future))
            else:
                taken.append((write, future))
            keys.add(write.key)
        self._waiting.extendleft(reversed(later))
        self._figures.waiting_writes = len(self._waiting)
        return taken

    async def _write_apart(self, write: Write, future: asyncio.Future[Any]) -> None:
        """Write something in a transaction of its own, beside the others."""
        failures = 0
        try:
            async with self._apart_at_once:
                while not future.done():
                    if not await self._commit([(write, future)]):
                        return
                    end_if_cancelled()
                    await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])
                    failures += 1
            self._waiting.appendleft((write, future))  # nobody waits for it: it is taken back
        except asyncio.CancelledError:
            self._waiting.appendleft((write, future))
            raise
        finally:
            del self._apart[write.key]
            self._wake.set()

    async def _commit(self, batch: _Batch) -> _Batch:
        """Commit a transaction; return what has to be repeated of it."""
        for write, _ in batch:
            write.was_tried = True
        writes = [write for write, _ in batch]
        began = time.monotonic()
        try:
            async with fair_timeout(_limit(writes)):
                results = await self._transaction(writes)
        except Exception as error:
            if is_away(error):
                if isinstance(error, TimeoutError) and len(batch) == 1:
                    writes[0].attempts += not writes[0].is_urgent
                self._health.failed(error)
                return batch
            if len(batch) == 1:
                _tell(batch[0][1], _refusal(error))
                return []
            return [left for one in batch for left in await self._commit([one])]
        self._figures.write_seconds.add(time.monotonic() - began)
        self._health.succeeded()
        for (write, future), result in zip(batch, results, strict=True):
            if future.done() and (undo := write.undo()) and not isinstance(result, Exception):
                # Before the same comes again, which may wait already.
                self._waiting.appendleft((undo, asyncio.get_running_loop().create_future()))
            _tell(future, result)
        return []

    async def _transaction(self, writes: Sequence[Write]) -> list[object]:
        kinds: dict[type[Write], list[Write]] = {}
        for write in writes:
            kinds.setdefault(type(write), []).append(write)
        ordered = sorted(kinds, key=lambda kind: kind.order)
        results: dict[int, object] = {}
        # There is one bulk: what is written apart, beside the others, has to go the long way.
        is_apart = any(write.key in self._apart for write in writes)
        rows = [None if is_apart else kind.rows(self._dialect, kinds[kind]) for kind in ordered]
        locks = locking(lock for write in writes for lock in write.locks)
        if not await self._in_bulk([locks, *rows]):
            async with self._engine.begin() as connection:
                await take_locks(connection, locks)
                for kind in ordered:
                    told = await kind.execute(connection, kinds[kind])
                    results.update(zip(map(id, kinds[kind]), told, strict=True))
        self.transactions += 1
        return [results.get(id(write)) for write in writes]

    async def _in_bulk(self, parts: Sequence[Sequence[Rows] | None]) -> bool:
        """Write all by their rows; tell whether that was possible."""
        batch: list[Rows] = []
        for rows in parts:
            if rows is None:
                return False
            batch += rows
        try:
            return await self.bulk.write(batch)
        except Exception:  # the long way meets the same, and tells what it is
            end_if_cancelled()
            return False


def _seconds(write: Write) -> float:
    return write.size / _BYTES_PER_SECOND


def _limit(writes: Sequence[Write]) -> float:
    """Return how long a transaction may take: longer each time that was too short."""
    seconds = STATEMENT_SECONDS + sum(map(_seconds, writes))
    return seconds * 2.0 ** min(_MOST_DOUBLED, max(write.attempts for write in writes))


def _tell(future: asyncio.Future[Any], result: object) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)


def _refuse(future: asyncio.Future[Any]) -> None:
    """Have somebody wait no longer, if anybody is there to hear it."""
    if not future.done():
        future.set_exception(StorageUnavailableError())
        future.exception()


def _refusal(error: Exception) -> Exception:
    if isinstance(error, _REFUSALS):
        logger.error("the database refuses a write: %s", type(error).__name__, exc_info=error)
    return error
