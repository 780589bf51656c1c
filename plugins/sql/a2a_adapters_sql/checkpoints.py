"""Checkpoints of SQLite beside its writer, who waits for the disk at those it makes itself."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from a2a_adapters.concurrency.threads import ThreadPool

if TYPE_CHECKING:
    from concurrent.futures import Future

    from sqlalchemy import Engine

LOG_PAGES = 8_000
"""At how many pages of the log, 32 MB, a commit makes a checkpoint itself.

The log begins anew only when all of it was moved; what is done beside a busy writer never is."""

_ROWS = 1_500
"""After how many rows there is a checkpoint: before the log has so many pages."""


class Checkpoints:
    """Moves what was committed from SQLite's log into its file.

    Args:
        engine: The database; each of its connections is a new one.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._thread = ThreadPool(1, "a2a-adapters-checkpoint")
        self._last: Future[None] | None = None
        self._rows = 0

    def committed(self, rows: int) -> None:
        """Note that so many rows were committed; begin a checkpoint if one is due."""
        self._rows += rows
        if self._rows >= _ROWS and (self._last is None or self._last.done()):
            self._rows = 0
            self._last = self._thread.submit(self._make)

    def close(self) -> None:
        """Begin no more."""
        self._thread.shutdown()

    def _make(self) -> None:
        with closing(self._engine.raw_connection()) as connection:
            connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
