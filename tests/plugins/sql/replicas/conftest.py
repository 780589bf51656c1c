"""Processes that serve one agent from one database."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.postgresql import new_database
from tests.support.processes import PATIENCE, launched
from tests.support.warm import warm


class Replicas:
    """Starts processes that serve the agent of `served`, and reads its log."""

    def __init__(self, work):
        self.database = new_database()
        self._work = work
        self._command = warm("-m", "tests.plugins.sql.replicas.served", self.database, str(work))

    def running(self, *options):
        """Run another process; yield it and its URL."""
        return launched([*self._command, *options])

    def touch(self, name):
        (self._work / name).touch()

    def log(self):
        log = self._work / "log"
        return log.read_text().splitlines() if log.exists() else []

    async def noted(self, line):
        """Wait for a line in the agent's log."""
        while True:
            if line in self.log():
                return
            await asyncio.sleep(0.05)


@pytest.fixture
def replicas(tmp_path):
    return Replicas(tmp_path)


@pytest.fixture
def hold(monkeypatch):
    """Delay the next transaction of a replica that contains a write of a kind.

    This does not count as an outage, however slow the machine is.
    """
    for patient in ("database.PATIENCE", "storage.PATIENCE", "commit.STATEMENT"):
        monkeypatch.setattr(f"a2a_adapters_sql.{patient}_SECONDS", PATIENCE)

    def held(replica, kind):
        commits, is_due, may_go = replica.storage.database.commits, asyncio.Event(), asyncio.Event()
        transaction = commits._transaction

        async def later(writes):
            if any(isinstance(write, kind) for write in writes):
                is_due.set()
                await may_go.wait()
            return await transaction(writes)

        monkeypatch.setattr(commits, "_transaction", later)
        return is_due, may_go

    return held
