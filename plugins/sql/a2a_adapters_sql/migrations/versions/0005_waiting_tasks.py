"""An index of the tasks whose answer any process can take, by how long they have waited."""

from __future__ import annotations

from alembic import op
from sqlalchemy import text

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make it."""
    op.create_index(
        "a2a_tasks_waiting",
        "a2a_tasks",
        ["agent", "changed"],
        postgresql_where=text("process IS NOT DISTINCT FROM ''"),
        sqlite_where=text("process IS ''"),
    )
