"""An index of the tasks owned by a process, by context."""

from __future__ import annotations

from alembic import op
from sqlalchemy import text

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the index."""
    is_open = text("process IS NOT NULL")
    op.create_index(
        "a2a_tasks_open",
        "a2a_tasks",
        ["context"],
        postgresql_where=is_open,
        sqlite_where=is_open,
    )
