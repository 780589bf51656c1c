"""psycopg's connections: those that SQLAlchemy has lost track of, and how to close them."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from sqlalchemy import event

from a2a_adapters_sql.alarm import fair_timeout

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

_PATIENCE_SECONDS = 6.0  # psycopg takes 5 to tell a database that hangs that a statement is over


class Connections:
    """The driver's connections of an engine, those included that SQLAlchemy has lost track of.

    It does so where a statement is cancelled whose cancelling does not end in time.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._open: WeakSet[Any] = WeakSet()
        self._is_closed = False
        # Inserted: before the connection is asked anything.
        event.listen(engine.sync_engine, "connect", self._remember, insert=True)

    def _remember(self, connection: Any, _record: object) -> None:
        driver = connection.driver_connection
        if self._is_closed:
            driver.pgconn.finish()  # whoever it is for finds it lost
        else:
            self._open.add(driver)

    async def aclose(self) -> None:
        """Close them all, and whichever is still being opened."""
        self._is_closed = True
        await asyncio.gather(*map(break_off, self._open))


async def break_off(connection: Any) -> None:
    """Close a connection of psycopg, also under somebody who uses it, to whom it looks lost.

    psycopg reads on in what closing frees, which ends the process: its user has to let go first.
    Who does not in time, as it waits for a database that hangs, keeps it.
    """
    if connection.lock.locked() and not connection.closed:
        with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as wire:
            wire.shutdown(socket.SHUT_RDWR)
    with suppress(TimeoutError):
        async with fair_timeout(_PATIENCE_SECONDS), connection.lock:
            await connection.close()
