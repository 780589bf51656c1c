"""Migrates the tables and checks their version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters_sql.schema import metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection

VERSION_TABLE = "a2a_schema"

_OURS = "a2a_"
_LOCK = 0x613261
"""Advisory lock that serialises migrations on PostgreSQL; SQLite has a single process."""


def is_ours(name: str | None, kind: str, _parents: object) -> bool:
    """Filter for alembic: whether a table belongs to this project."""
    return kind != "table" or (name or "").startswith(_OURS)


def upgrade(connection: Connection) -> str:
    """Create or migrate the tables; return the schema version.

    Raises:
        ConfigurationError: The schema is newer than this release.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    scripts = ScriptDirectory.from_config(_config())
    head = str(scripts.get_current_head())
    current = _current(connection)
    if current == head:
        return head
    if current is not None and current not in {s.revision for s in scripts.walk_revisions()}:
        raise ConfigurationError(
            f"the storage has the schema {current}, which is newer than this a2a-adapters "
            f"(it knows {head}); install the newer release"
        )
    command.upgrade(_config(connection), "head")
    return head


def differences(connection: Connection) -> list[str]:
    """Return the differences between the tables and this release's schema."""
    options = {"version_table": VERSION_TABLE, "include_name": is_ours}
    found = compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
    head = ScriptDirectory.from_config(_config()).get_current_head()
    current = _current(connection)
    outdated = [] if current == head else [f"the schema is {current}, this release expects {head}"]
    return outdated + [_sentence(difference) for difference in found]


def has_tables(connection: Connection) -> bool:
    """Return whether the tables were ever created."""
    return _current(connection) is not None


def _sentence(difference: Any) -> str:
    """Describe a difference that alembic found."""
    if isinstance(difference, list):  # the changes of a column
        return "; ".join(map(_sentence, difference))
    kind, *about = difference
    action, _, what = kind.partition("_")
    if action == "modify":
        _, table, column, _, actual, expected = about
        return f"the column {table}.{column} has {what} {actual}, this release expects {expected}"
    named = about[-1]
    name = f"{about[-2]}.{named.name}" if what == "column" else named.name
    kinds = {"fk": "foreign key"}
    state = "is missing" if action == "add" else "is not of this release"
    return f"the {kinds.get(what, what)} {name} {state}"


def _current(connection: Connection) -> str | None:
    return MigrationContext.configure(
        connection, opts={"version_table": VERSION_TABLE}
    ).get_current_revision()


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config
