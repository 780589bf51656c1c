"""Group commit: one writer per process batches the pending writes of all tasks."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from abc import ABC
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import DataError, IntegrityError, ProgrammingError, StatementError

from a2a_adapters.concurrency import end_if_cancelled
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters_sql.alarm import Alarm, fair_timeout
from a2a_adapters_sql.bulk import locking, take_locks
from a2a_adapters_sql.engine import STATEMENT_SECONDS, is_away, is_full

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import TypeAlias

    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

    from a2a_adapters_sql.bulk import Bulk, Rows
    from a2a_adapters_sql.figures import StorageFigures
    from a2a_adapters_sql.health import Health

    _Batch: TypeAlias = list[tuple["Write", asyncio.Future[Any]]]

_MOST = 500
"""Maximum number of writes per transaction."""

_TURNS = 3
"""Event loop iterations to wait for more writes, in which reactions to the last transaction are
submitted. They take microseconds on an idle loop."""

_PAUSES = (0.05, 0.2, 0.5, 1.0)
"""Seconds between attempts during an outage; the last value repeats."""

_LARGE_BYTES = 1 << 20
"""Writes larger than this (bytes) get their own transaction."""

_BYTES_PER_SECOND = 1 << 20
"""Assumed minimum throughput in bytes per second; slower writes get more time per attempt."""

_MOST_DOUBLED = 10
"""Maximum number of doublings of a write's time limit."""

_APART = 3
"""Maximum number of concurrent separate transactions."""

_REFUSALS = (DataError, IntegrityError, ProgrammingError, StatementError)
"""Errors of the write itself, which no retry can fix."""

logger = logging.getLogger(__name__)


class Write(ABC):
    """A pending write. Writes of one class share a statement.

    Writes must be idempotent: a commit is repeated if its response is lost.
    """

    key: tuple[str, ...]
    """Identifies the target; writes with the same key are executed in order."""

    order = 0
    """Classes with lower values are written first."""

    locks: Collection[int] = ()
    """Locks taken before the transaction writes anything, so that waiting for a lock never holds
    row locks."""

    size = 0
    """Approximate size in bytes, if large."""

    is_urgent = False
    """Whether it is never delayed behind large writes."""

    was_tried = False
    """Whether an attempt with an unknown outcome may have written it."""

    attempts = 0
    """Number of timeouts in its own transaction."""

    can_be_refused = False
    """Whether its caller waits for a limited time only."""

    @classmethod
    def rows(cls, dialect: str, writes: Sequence[Any]) -> Sequence[Rows] | None:  # noqa: ARG003
        """Return all rows to write in bulk; None falls back to `execute`.

        If all rows can be written, the callers get no result. Otherwise none is written, and
        `execute` determines the result of each write.
        """
        return None

    @classmethod
    async def execute(cls, connection: AsyncConnection, writes: Sequence[Any]) -> Sequence[object]:
        """Execute all writes; return the result or exception for each caller.

        The default executes them one by one, which suits rare writes.
        """
        return [await write.execute_one(connection) for write in writes]

    async def execute_one(self, connection: AsyncConnection) -> object:
        """Execute this write alone; return the result for its caller."""
        raise NotImplementedError

    def undo(self) -> Write | None:
        """Return the compensating write for an abandoned result, if any."""
        return None


class GroupCommit:
    """Executes writes in batches.

    A refused write fails alone. During an outage, writes are retried until the database
    returns; each caller waits up to its own limit.

    Args:
        engine: The database.
        bulk: Writes rows in bulk.
        health: Records whether writes succeed.
        figures: Record durations and the queue length.
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
        """Writes in the running transaction."""
        self._wake = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None
        self._most = _MOST
        self._is_closed = False
        self._is_full = False
        """Whether the last failure was a full disk, for which each write is tried alone."""
        self._apart: dict[tuple[str, ...], asyncio.Task[None]] = {}
        """Large or slow writes in separate transactions, by key."""
        self._apart_at_once = asyncio.Semaphore(_APART)
        self.transactions = 0

    def start(self) -> None:
        """Start the writer."""
        self._worker = asyncio.create_task(self._run())

    async def drain(self, seconds: float) -> None:
        """Wait for pending writes, at most `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while left := self._left():
                    await asyncio.wait(left)

    def _left(self) -> list[asyncio.Future[Any]]:
        waiting = [future for _, future in [*self._batch, *self._waiting] if not future.done()]
        return [*waiting, *self._apart.values()]

    async def aclose(self, seconds: float) -> None:
        """Finish pending writes, at most `seconds`, and stop. Idempotent."""
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
            logger.error("%d writes were lost: the database is unavailable", len(self._waiting))
        for _, future in self._waiting:
            _refuse(future)
        await self.bulk.aclose()

    async def write(self, write: Write, patience: float | None = None) -> Any:
        """Execute a write and return its result after the commit.

        Args:
            write: The write.
            patience: Seconds to wait, extended for large writes; None waits indefinitely
                for the database.

        Raises:
            StorageUnavailableError: The time is up; the write will not happen.
            Exception: The database refuses the write.
        """
        if self._is_closed:
            raise StorageUnavailableError
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((write, future))
        self._figures.waiting_writes = len(self._waiting)
        self._wake.set()
        if patience is None:
            return await future
        write.can_be_refused = True
        alarm = Alarm(patience + _seconds(write), partial(self._give_up, future))
        try:
            return await future
        finally:
            alarm.cancel()

    def _give_up(self, future: asyncio.Future[Any]) -> None:
        """Fail a caller whose time is up."""
        if not future.done():
            self._health.suspect("it is too slow")
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
                if not self._is_full:  # the batch may have been too large for the time limit
                    self._most = max(1, len(batch) // 2)
                self._waiting.extendleft(reversed(left))
                await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])
                failures += 1

    async def _gathered(self) -> _Batch:
        """Return the next batch, including writes submitted at the same time."""
        if self._waiting:
            for _ in range(_TURNS):
                await asyncio.sleep(0)
        return self._take()

    def _take(self) -> _Batch:
        """Take the next batch, with at most one write per key.

        Large or slow writes get their own batch.
        """
        taken: _Batch = []
        later: _Batch = []
        keys = set(self._apart)
        while self._waiting and len(taken) < self._most:
            write, future = self._waiting.popleft()
            if future.done():  # the caller has given up
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
        """Execute a write in a separate, concurrent transaction."""
        failures = 0
        try:
            async with self._apart_at_once:
                while not future.done():
                    if not await self._commit([(write, future)]):
                        return
                    end_if_cancelled()
                    await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])
                    failures += 1
            self._waiting.appendleft((write, future))  # abandoned: compensate it
        except asyncio.CancelledError:
            self._waiting.appendleft((write, future))
            raise
        finally:
            del self._apart[write.key]
            self._wake.set()

    async def _commit(self, batch: _Batch) -> _Batch:
        """Commit a batch; return the writes to repeat."""
        for write, _ in batch:
            write.was_tried = True
        writes = [write for write, _ in batch]
        began = time.monotonic()
        try:
            async with fair_timeout(_limit(writes)):
                results = await self._transaction(writes)
        except Exception as error:
            if is_away(error) and not (is_full(error) and len(batch) > 1):
                self._is_full = is_full(error)
                if self._is_full:
                    self._refuse_at_once(batch[0])
                if isinstance(error, TimeoutError) and len(batch) == 1:
                    writes[0].attempts += not writes[0].is_urgent
                self._health.failed(error)
                return batch
            if len(batch) == 1:
                _resolve(batch[0][1], _refusal(error))
                return []
            return [left for one in batch for left in await self._commit([one])]
        self._figures.write_seconds.add(time.monotonic() - began)
        self._health.succeeded()
        for (write, future), result in zip(batch, results, strict=True):
            if future.done() and (undo := write.undo()) and not isinstance(result, Exception):
                # Before a queued write with the same key.
                self._waiting.appendleft((undo, asyncio.get_running_loop().create_future()))
            _resolve(future, result)
        return []

    def _refuse_at_once(self, one: tuple[Write, asyncio.Future[Any]]) -> None:
        """Refuse a write for which there is no space, because waiting would not help."""
        self._health.suspect("it is full")
        write, future = one
        if write.can_be_refused:
            _refuse(future)

    async def _transaction(self, writes: Sequence[Write]) -> list[object]:
        kinds: dict[type[Write], list[Write]] = {}
        for write in writes:
            kinds.setdefault(type(write), []).append(write)
        ordered = sorted(kinds, key=lambda kind: kind.order)
        results: dict[int, object] = {}
        # There is one bulk writer; separate transactions use `execute`.
        is_apart = any(write.key in self._apart for write in writes)
        rows = [None if is_apart else kind.rows(self._dialect, kinds[kind]) for kind in ordered]
        locks = locking(lock for write in writes for lock in write.locks)
        if not await self._in_bulk([locks, *rows]):
            async with self._engine.begin() as connection:
                if self._dialect == "sqlite":
                    # Otherwise a write that finds nothing to change would succeed on a locked file.
                    await connection.exec_driver_sql("BEGIN IMMEDIATE")
                await take_locks(connection, locks)
                for kind in ordered:
                    values = await kind.execute(connection, kinds[kind])
                    results.update(zip(map(id, kinds[kind]), values, strict=True))
        self.transactions += 1
        return [results.get(id(write)) for write in writes]

    async def _in_bulk(self, parts: Sequence[Sequence[Rows] | None]) -> bool:
        """Try to write a batch in bulk; return whether that was possible."""
        batch: list[Rows] = []
        for rows in parts:
            if rows is None:
                return False
            batch += rows
        try:
            return await self.bulk.write(batch)
        except Exception:  # `execute` will report the cause
            end_if_cancelled()
            return False


def _seconds(write: Write) -> float:
    return write.size / _BYTES_PER_SECOND


def _limit(writes: Sequence[Write]) -> float:
    """Return the time limit of a transaction, doubled after each timeout."""
    seconds = STATEMENT_SECONDS + sum(map(_seconds, writes))
    return seconds * 2.0 ** min(_MOST_DOUBLED, max(write.attempts for write in writes))


def _resolve(future: asyncio.Future[Any], result: object) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)


def _refuse(future: asyncio.Future[Any]) -> None:
    """Fail a caller that is still waiting."""
    if not future.done():
        future.set_exception(StorageUnavailableError())
        future.exception()


def _refusal(error: Exception) -> Exception:
    if isinstance(error, _REFUSALS):
        logger.error("the database refused a write: %s", type(error).__name__, exc_info=error)
    return error
