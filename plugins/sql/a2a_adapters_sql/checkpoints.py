"""SQLite checkpoints in a background thread, because the writer would block on the disk."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from a2a_adapters.concurrency.threads import ThreadPool

if TYPE_CHECKING:
    from concurrent.futures import Future

    from sqlalchemy import Engine

LOG_PAGES = 8_000
"""Size of the log (32 MB) at which SQLite checkpoints during a commit.

A background checkpoint beside a busy writer never resets the log, so this limit is needed."""

_ROWS = 1_500
"""Rows between checkpoints; reached before the log has that many pages."""


class Checkpoints:
    """Moves committed pages from SQLite's log into the database file.

    Args:
        engine: The database, without connection pooling.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._thread = ThreadPool(1, "a2a-adapters-checkpoint")
        self._last: Future[None] | None = None
        self._rows = 0

    def committed(self, rows: int) -> None:
        """Count committed rows; start a checkpoint if one is due."""
        self._rows += rows
        if self._rows >= _ROWS and (self._last is None or self._last.done()):
            self._rows = 0
            self._last = self._thread.submit(self._make)

    def close(self) -> None:
        """Start no further checkpoints."""
        self._thread.shutdown()

    def _make(self) -> None:
        with closing(self._engine.raw_connection()) as connection:
            connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
