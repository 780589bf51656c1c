"""The primary key of tasks starts with the id, as used by `schema.is_task`."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Recreate the key. SQLite uses either order."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "ALTER TABLE a2a_tasks DROP CONSTRAINT a2a_tasks_pkey, "
            "ADD CONSTRAINT a2a_tasks_pkey PRIMARY KEY (id, agent, owner)"
        )
