"""How often a lease was extended by other processes since its own last renewed it."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, SmallInteger

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add it."""
    op.add_column("a2a_processes", Column("graces", SmallInteger))
