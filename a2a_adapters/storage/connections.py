"""psycopg's connections: those that SQLAlchemy has lost track of, and how to close them."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from sqlalchemy import event

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

_PATIENCE_SECONDS = 6.0  # psycopg takes 5 to tell a database that hangs that a statement is over


def connections_of(engine: AsyncEngine) -> WeakSet[Any]:
    """Return the driver's connections, those included that SQLAlchemy has lost track of.

    It does so where a statement is cancelled whose cancelling does not end in time.
    """
    connections: WeakSet[Any] = WeakSet()

    @event.listens_for(engine.sync_engine, "connect", insert=True)  # before it is asked anything
    def remember(connection: Any, _record: object) -> None:
        connections.add(connection.driver_connection)

    return connections


async def break_off(connection: Any) -> None:
    """Close a connection of psycopg, also under somebody who uses it, to whom it looks lost.

    psycopg reads on in what closing frees, which ends the process: its user has to let go first.
    Who does not in time, as it waits for a database that hangs, keeps it.
    """
    if connection.lock.locked() and not connection.closed:
        with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as wire:
            wire.shutdown(socket.SHUT_RDWR)
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE_SECONDS), connection.lock:
            await connection.close()
