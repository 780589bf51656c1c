"""Bus over PostgreSQL LISTEN/NOTIFY, with one channel per process."""

from __future__ import annotations

import os
import socket
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

from a2a_adapters.concurrency import end_if_cancelled
from a2a_adapters_sql.alarm import Alarm, fair_timeout
from a2a_adapters_sql.replicas.batches import ANSWER_SECONDS, BEAT_SECONDS, BatchBus

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Sequence
    from typing import TypeAlias

    from sqlalchemy.ext.asyncio import AsyncEngine

    from a2a_adapters_sql.replicas.batches import Payload

    _Connection: TypeAlias = psycopg.AsyncConnection[tuple[object, ...]]

_NOTIFY = (
    "SELECT pg_notify(channel, payload) "
    "FROM unnest(%s::text[], %s::text[]) AS sent(channel, payload)"
)


class NotifyBus(BatchBus):
    """Sends each batch with one statement that notifies all receivers.

    Args:
        engine: Provides the database address.
        process_id: This process.
    """

    name = "the bus of the storage"
    connections = 2
    advice = (
        ": LISTEN needs a dedicated session, which PgBouncer's transaction mode does not provide; "
        "use session mode, connect to PostgreSQL directly, or use --bus redis://..."
    )
    _payload_bytes = 7900  # PostgreSQL's limit is 8000
    _failures = (psycopg.Error, OSError)  # includes TimeoutError

    def __init__(self, engine: AsyncEngine, process_id: str) -> None:
        super().__init__(process_id)
        self._engine = engine

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[_Connection]:
        _, options = self._engine.dialect.create_connect_args(self._engine.url)
        async with fair_timeout(2 * ANSWER_SECONDS):
            connection = await psycopg.AsyncConnection.connect(**options, autocommit=True)
        try:
            yield connection
        finally:
            await connection.close()

    async def _listen(self) -> None:
        async with self._connection() as connection:
            channel = sql.Identifier(self._process_id)
            await connection.execute(sql.SQL("LISTEN {}").format(channel))
            self._begin()
            while True:
                async for notice in connection.notifies(timeout=BEAT_SECONDS):
                    self._hear(notice.payload)
                end_if_cancelled()
                with _answering(connection, ANSWER_SECONDS):
                    await connection.execute("SELECT 1")

    async def _send(self) -> None:
        async with self._connection() as connection:

            async def deliver(payloads: Sequence[Payload], seconds: float) -> None:
                with _answering(connection, seconds):
                    await connection.execute(_NOTIFY, list(map(list, zip(*payloads, strict=True))))

            # Notifications need not survive a database crash, which disconnects all listeners.
            await connection.execute("SET synchronous_commit = off")
            await self._send_by(deliver)


@contextmanager
def _answering(connection: _Connection, seconds: float) -> Generator[None]:
    """Cut the connection if the database does not answer in time.

    Cancelling a statement would wait for its end, with psycopg 3.2 indefinitely.
    """
    alarm = Alarm(seconds, partial(_cut, connection))
    try:
        yield
    finally:
        alarm.cancel()


def _cut(connection: _Connection) -> None:
    with (
        suppress(OSError, psycopg.Error),
        socket.socket(fileno=os.dup(connection.fileno())) as line,
    ):
        line.shutdown(socket.SHUT_RDWR)
