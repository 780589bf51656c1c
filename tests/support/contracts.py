"""Runs the contract of adapters on a server with PostgreSQL."""

from __future__ import annotations

from functools import cache

from a2a_adapters.testing import OnStorage


class OnPostgresql(OnStorage):
    """Runs a contract on a server with PostgreSQL; a process's tests share a database."""

    def storage(self):
        return _postgresql()


@cache
def _postgresql():
    from tests.support.postgresql import new_database

    return new_database()
