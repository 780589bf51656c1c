"""Closing of psycopg connections, including those that SQLAlchemy has lost track of."""

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

_PATIENCE_SECONDS = 6.0  # psycopg waits 5 to cancel a statement on a hanging database


class Connections:
    """All driver connections of an engine, including those lost by SQLAlchemy.

    SQLAlchemy loses a connection if cancelling its statement times out.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._open: WeakSet[Any] = WeakSet()
        self._is_closed = False
        # Inserted first: before any statement on the connection.
        event.listen(engine.sync_engine, "connect", self._remember, insert=True)

    def _remember(self, connection: Any, _record: object) -> None:
        driver = connection.driver_connection
        if self._is_closed:
            driver.pgconn.finish()  # its user sees a lost connection
        else:
            self._open.add(driver)

    async def aclose(self) -> None:
        """Close all connections, including those being opened."""
        self._is_closed = True
        await asyncio.gather(*map(break_off, self._open))


async def break_off(connection: Any) -> None:
    """Close a psycopg connection even while in use; its user sees a lost connection.

    psycopg would read memory freed by closing and crash, so the user has to release it first.
    A user that waits for a hanging database beyond the time limit keeps it.
    """
    if connection.lock.locked() and not connection.closed:
        with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as wire:
            wire.shutdown(socket.SHUT_RDWR)
    with suppress(TimeoutError):
        async with fair_timeout(_PATIENCE_SECONDS), connection.lock:
            await connection.close()
