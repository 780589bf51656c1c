"""Locks of the database: what processes would do at once, they do one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, bindparam, func, select

from a2a_adapters_sql.bulk import Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

_LOCK = select(func.pg_advisory_xact_lock(bindparam("its_lock", type_=BigInteger)))
"""Until the transaction ends."""


def locking(locks: Iterable[int]) -> list[Rows]:
    """Return what takes locks, in an order in which no two transactions wait for each other."""
    values = [{"its_lock": lock} for lock in sorted(set(locks))]
    return [Rows(_LOCK, values)] if values else []


async def take(connection: AsyncConnection, locks: Sequence[Rows]) -> None:
    """Take locks, each as soon as it is free."""
    for rows in locks:
        for values in rows.values:
            await connection.execute(rows.statement, values)
