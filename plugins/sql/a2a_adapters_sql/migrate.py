"""Migrates the tables, and compares them with the schema, by Alembic."""

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
from a2a_adapters_sql.schema_version import HEAD, VERSION_TABLE, current_version

if TYPE_CHECKING:
    from sqlalchemy import Connection

_OURS = "a2a_"
_LOCK = 0x613261
"""Advisory lock that serialises migrations on PostgreSQL; SQLite has a single process."""


def is_ours(name: str | None, kind: str, _parents: object) -> bool:
    """Filter for alembic: whether a table belongs to this project."""
    return kind != "table" or (name or "").startswith(_OURS)


def upgrade(connection: Connection) -> None:
    """Create or migrate the tables.

    Raises:
        ConfigurationError: The schema is newer than this release.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    current = current_version(connection)
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if current is not None and current not in known:
        raise ConfigurationError(
            f"the storage has the schema {current}, which is newer than this a2a-adapters "
            f"(it knows {HEAD}); install the newer release"
        )
    command.upgrade(_config(connection), "head")


def differences(connection: Connection) -> list[str]:
    """Return the differences between the tables and this release's schema."""
    options = {"version_table": VERSION_TABLE, "include_name": is_ours}
    found = compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
    current = current_version(connection)
    outdated = [] if current == HEAD else [f"the schema is {current}, this release expects {HEAD}"]
    return outdated + [_sentence(difference) for difference in found]


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


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config
