"""The schema version of a database, read without Alembic, which only a migration imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import inspect, text

if TYPE_CHECKING:
    from sqlalchemy import Connection

HEAD = "0001"
"""The newest migration; `migrate.differences` compares it with the database."""

VERSION_TABLE = "a2a_schema"


def current_version(connection: Connection) -> str | None:
    """Return the schema version, None if the tables were never created."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    version: str | None = connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608 - a constant
    return version
