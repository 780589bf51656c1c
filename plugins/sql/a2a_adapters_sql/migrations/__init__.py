"""Alembic's migrations of the tables; only ever added to."""
