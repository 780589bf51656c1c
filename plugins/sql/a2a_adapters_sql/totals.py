"""Totals of task lists: exact for short lists, recently counted for long ones."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from a2a_adapters.concurrency.background import Background, end_if_cancelled
from a2a_adapters_sql.schema import tasks

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncEngine

COUNTED = 10_000
"""Maximum total counted per request, which takes a few milliseconds."""

_FRESH_SECONDS = 60.0
"""Age in seconds at which the total of a longer list is recounted."""

_COUNT_SECONDS = 60.0
"""Time limit of a background count in seconds."""

_LISTS = 1000
"""Maximum number of cached totals."""

logger = logging.getLogger(__name__)


class Totals:
    """Counts tasks for `totalSize`.

    A list of more than `COUNTED` tasks is counted in the background, one list at a time, so that
    requests neither wait nor exhaust the connections. Until then its total is
    `COUNTED + 1`.

    Args:
        engine: The database.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._known: OrderedDict[Hashable, tuple[int, float]] = OrderedDict()
        self._counting = Background()
        self._is_counting = False

    def recent(self, name: Hashable) -> int | None:
        """Return the cached total of a long list if counted within `_FRESH_SECONDS`."""
        total, until = self._known.get(name, (0, 0.0))
        return total if time.monotonic() < until else None

    def estimate(self, name: Hashable, wanted: Sequence[ColumnElement[bool]]) -> int:
        """Return the last known total of a long list and start a recount.

        Args:
            name: Identifies the list.
            wanted: The conditions of the list.
        """
        if not self._is_counting:
            self._is_counting = True
            self._counting.begin(self._count(name, wanted))
        return self._known.get(name, (COUNTED + 1, 0.0))[0]

    async def _count(self, name: Hashable, wanted: Sequence[ColumnElement[bool]]) -> None:
        query = select(func.count()).select_from(tasks).where(*wanted)
        try:
            async with asyncio.timeout(_COUNT_SECONDS), self._engine.connect() as connection:
                total: int = (await connection.execute(query)).scalar_one()
        except Exception as error:  # an outage is reported elsewhere
            end_if_cancelled()
            logger.info("counting the tasks of a list failed: %s", type(error).__name__)
        else:
            self._known[name] = max(total, COUNTED + 1), time.monotonic() + _FRESH_SECONDS
            self._known.move_to_end(name)
            if len(self._known) > _LISTS:
                self._known.popitem(last=False)
        finally:
            self._is_counting = False

    def close(self) -> None:
        """Stop counting."""
        self._counting.cancel()
