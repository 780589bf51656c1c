"""Opens LangGraph's own checkpointers in the server's database."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager

    from langgraph.checkpoint.base import BaseCheckpointSaver
    from psycopg import AsyncConnection

_TIMEOUT = 5.0
"""Seconds that a graph waits for the database."""

_LOCK = 0x613261_6C67
"""The advisory lock for creating the tables in PostgreSQL."""


def open_checkpointer(url: str) -> AbstractAsyncContextManager[BaseCheckpointSaver[str]]:
    """Open a checkpointer in the database of `ServerOptions.storage`.

    Raises:
        ModuleNotFoundError: LangGraph's package for that database is not installed.
    """
    return _in_sqlite(url) if url.startswith("sqlite:") else _in_postgresql(url)


@asynccontextmanager
async def _in_sqlite(url: str) -> AsyncGenerator[BaseCheckpointSaver[str]]:
    import aiosqlite  # noqa: PLC0415 - an extra
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: PLC0415
    from sqlalchemy import make_url  # noqa: PLC0415

    address = make_url(url)
    async with aiosqlite.connect(address.database or "", timeout=_TIMEOUT) as connection:
        synchronous = address.query.get("synchronous", "normal")
        await connection.execute(f"PRAGMA synchronous={synchronous}")
        saver = AsyncSqliteSaver(connection)
        await saver.setup()
        yield saver


@asynccontextmanager
async def _in_postgresql(url: str) -> AsyncGenerator[BaseCheckpointSaver[str]]:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver  # noqa: PLC0415 - an extra
    from psycopg import AsyncConnection  # noqa: PLC0415
    from psycopg.rows import dict_row  # noqa: PLC0415
    from psycopg_pool import AsyncConnectionPool  # noqa: PLC0415

    kwargs: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    pool: AsyncConnectionPool[AsyncConnection[dict[str, Any]]] = AsyncConnectionPool(
        url,
        kwargs=kwargs,
        min_size=1,
        max_size=1,  # the saver's lock lets only one operation run at a time
        timeout=_TIMEOUT,
        check=AsyncConnectionPool.check_connection,  # survives restarts of the database
        open=False,
    )
    async with pool:
        saver = AsyncPostgresSaver(pool)
        async with await AsyncConnection.connect(url, **kwargs) as connection:
            await _lock_setup(connection)
            await saver.setup()  # closing the connection releases the lock
        yield saver


async def _lock_setup(connection: AsyncConnection[dict[str, Any]]) -> None:
    """Wait until no other process creates the tables.

    Polls, because an open transaction that waits for the lock would block index creation.
    """
    while True:
        found = await connection.execute("SELECT pg_try_advisory_lock(%s) AS mine", [_LOCK])
        if (row := await found.fetchone()) and row["mine"]:
            return
        await asyncio.sleep(0.1)
