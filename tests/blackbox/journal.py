"""The agents' table of side effects: one row per run of a step."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from typing import NamedTuple

FILE = "BLACKBOX_JOURNAL"
"""Environment variable with the table's file."""
PROCESS = "BLACKBOX_PROCESS"
"""Environment variable with the name of a server process."""


class Effect(NamedTuple):
    """A run of a step.

    Attributes:
        key: The task's key, part of its first message.
        step: The step's name.
        process: The name of the process that ran it.
        at: Start time, as `time.time()`.
    """

    key: str
    step: str
    process: str
    at: float


def _open(file: str) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=60, isolation_level=None)
    connection.execute("PRAGMA synchronous=OFF")  # survives a kill
    return connection


def create(file: str) -> None:
    """Create the empty table."""
    with closing(_open(file)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE effects (key TEXT, step TEXT, process TEXT, at REAL)")


def note(key: str, step: str) -> None:
    """Record the start of a step."""
    effect = Effect(key, step, os.environ[PROCESS], time.time())
    with closing(_open(os.environ[FILE])) as connection:
        connection.execute("INSERT INTO effects VALUES (?, ?, ?, ?)", effect)


def read(file: str) -> list[Effect]:
    """Return all effects in order."""
    with closing(_open(file)) as connection:
        rows = connection.execute("SELECT * FROM effects ORDER BY rowid").fetchall()
    return [Effect(*row) for row in rows]
