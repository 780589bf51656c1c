"""A write that outlasts the patience of whoever asks for its result."""

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


class OutlastingWrite:
    """Goes on while nobody waits for it; who asks next gets the result.

    So what it makes this process's own is never its own without its knowing.

    Args:
        database: Where it is written.
        make: Makes it.
    """

    def __init__(self, database: Database, make: Callable[[], Write]) -> None:
        self._database = database
        self._make = make
        self._writing: asyncio.Task[Any] | None = None

    @property
    def is_unread(self) -> bool:
        """Whether it is written, and nobody has got the result."""
        return self._writing is not None and self._writing.done()

    async def result(self) -> Any:
        """Begin to write, unless it is being written, and return the result.

        Raises:
            StorageUnavailableError: It is not written yet; ask again, unless that is closed.
        """
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._database.write(self._make()))
            self._writing.add_done_callback(let_fail)
        writing = self._writing
        with suppress(TimeoutError):
            async with fair_timeout(PATIENCE_SECONDS):
                await asyncio.wait({writing})
        if not writing.done():
            self._database.health.suspect("it takes too long")
            raise StorageUnavailableError
        if self._writing is writing:  # else whoever waited as well has begun the next one
            self._writing = None
        return writing.result()
