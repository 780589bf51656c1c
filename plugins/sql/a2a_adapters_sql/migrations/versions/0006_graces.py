"""Number of lease extensions by other processes since the last own renewal."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, SmallInteger

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the column."""
    op.add_column("a2a_processes", Column("graces", SmallInteger))
