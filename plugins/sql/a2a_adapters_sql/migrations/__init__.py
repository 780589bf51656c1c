"""Alembic migrations, append-only."""
