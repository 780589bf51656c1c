"""Quota usage of owners per process."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Text

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column."""
    op.add_column("a2a_processes", Column("taken", Text))
