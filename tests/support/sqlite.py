"""SQLite files with empty tables, which a server would create in more time than most tests take."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from a2a_adapters_sql.migrate import upgrade
from sqlalchemy import create_engine


def new_database(path):
    """Return the URL of an empty storage in a file."""
    path.write_bytes(_tables())
    return f"sqlite:///{path}"


@cache
def _tables():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.db"
        engine = create_engine(f"sqlite:///{path}")
        with engine.begin() as connection:
            upgrade(connection)
        engine.dispose()
        return path.read_bytes()
