"""The agents' own table of side effects: one row each time a step of a task runs."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from typing import NamedTuple

FILE = "BLACKBOX_JOURNAL"
"""The environment variable that names the table's file."""
PROCESS = "BLACKBOX_PROCESS"
"""The environment variable that names a server's process."""


class Effect(NamedTuple):
    """One run of a step.

    Attributes:
        key: The task's key, part of its first message.
        step: The step's name.
        process: The name of the process that ran it.
        at: When it began, as `time.time()`.
    """

    key: str
    step: str
    process: str
    at: float


def _open(file: str) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=60, isolation_level=None)
    connection.execute("PRAGMA synchronous=OFF")  # survives a killed process
    return connection


def create(file: str) -> None:
    """Create the empty table."""
    with closing(_open(file)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE effects (key TEXT, step TEXT, process TEXT, at REAL)")


def note(key: str, step: str) -> None:
    """Record that a step begins to run."""
    effect = Effect(key, step, os.environ[PROCESS], time.time())
    with closing(_open(os.environ[FILE])) as connection:
        connection.execute("INSERT INTO effects VALUES (?, ?, ?, ?)", effect)


def read(file: str) -> list[Effect]:
    """Return all effects in the order in which they were recorded."""
    with closing(_open(file)) as connection:
        rows = connection.execute("SELECT * FROM effects ORDER BY rowid").fetchall()
    return [Effect(*row) for row in rows]
