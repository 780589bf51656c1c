"""The primary key of tasks begins with the id, by which `schema.is_task` looks for them."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make it anew. SQLite finds a task by either."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "ALTER TABLE a2a_tasks DROP CONSTRAINT a2a_tasks_pkey, "
            "ADD CONSTRAINT a2a_tasks_pkey PRIMARY KEY (id, agent, owner)"
        )
