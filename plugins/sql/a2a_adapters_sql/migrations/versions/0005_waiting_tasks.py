"""An index of waiting tasks that any process can resume, by age."""

from __future__ import annotations

from alembic import op
from sqlalchemy import text

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the index."""
    op.create_index(
        "a2a_tasks_waiting",
        "a2a_tasks",
        ["agent", "changed"],
        postgresql_where=text("process IS NOT DISTINCT FROM ''"),
        sqlite_where=text("process IS ''"),
    )
