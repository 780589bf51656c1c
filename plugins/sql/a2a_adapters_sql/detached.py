"""A write that continues after its callers have given up waiting."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from a2a_adapters.concurrency.background import let_fail
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.storage.interface import PATIENCE_SECONDS
from a2a_adapters_sql.alarm import fair_timeout

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_adapters_sql.commit import Write
    from a2a_adapters_sql.database import Database


class DetachedWrite:
    """Continues without waiters; the next caller gets the result.

    This prevents the process from owning tasks without knowing it.

    Args:
        database: Executes the write.
        make: Creates the write.
    """

    def __init__(self, database: Database, make: Callable[[], Write]) -> None:
        self._database = database
        self._make = make
        self._writing: asyncio.Task[Any] | None = None

    @property
    def is_unread(self) -> bool:
        """Whether the write is done but its result was not read."""
        return self._writing is not None and self._writing.done()

    async def result(self) -> Any:
        """Start the write unless it is running, and return the result.

        Raises:
            StorageUnavailableError: The write is not done in time; try again.
        """
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._database.write(self._make()))
            self._writing.add_done_callback(let_fail)
        writing = self._writing
        with suppress(TimeoutError):
            async with fair_timeout(PATIENCE_SECONDS):
                await asyncio.wait({writing})
        if not writing.done():
            self._database.health.suspect("it is too slow")
            raise StorageUnavailableError
        if self._writing is writing:  # otherwise a concurrent caller has started the next one
            self._writing = None
        return writing.result()
