"""Alembic environment, run on the connection passed by `migrate`."""

from __future__ import annotations

from alembic import context

from a2a_adapters_sql.migrate import is_ours
from a2a_adapters_sql.schema import metadata
from a2a_adapters_sql.schema_version import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    include_name=is_ours,
)
with context.begin_transaction():
    context.run_migrations()
