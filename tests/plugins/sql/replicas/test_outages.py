"""Live processes keep their tasks through an outage longer than a lease."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_sql.replicas.locations import Directory

from tests.plugins.sql.conftest import storage_at
from tests.plugins.sql.replicas.outages import KINDS, Outages
from tests.plugins.sql.test_contract import put, store_of, task
from tests.support.postgresql import new_database

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]

LEASE = 10.0
"""Default lease in seconds."""


class Process:
    """A process that renews its lease only on request."""

    def __init__(self, url):
        self.storage = storage_at(url)
        self._database = self.storage.database
        self.id = self._database.process_id

    async def start(self):
        await self.storage.start()
        self._database.lease._renewal.cancel()
        await put(store_of(self.storage), task(f"of {self.id}"))

    async def renew(self):
        await self._database.write(self._database.lease._entry())

    async def sweep(self):
        """Return the processes whose tasks it takes over."""
        left = await self.storage.of("poet").left_behind()
        return {one.stored.task.id.removeprefix("of ") for one in left}

    async def believes_in(self, other):
        return await Directory(self._database, "poet", self._database.bus).is_alive(other.id)

    async def let_pass(self, seconds, *only):
        """Simulate time without renewals, of all or the given processes."""
        which = f" WHERE id IN ({', '.join(repr(one.id) for one in only)})" if only else ""
        ended = f"UPDATE a2a_processes SET lease_until = lease_until - {seconds}{which}"
        async with self._database.engine.begin() as connection:
            await connection.exec_driver_sql(ended)


@pytest.fixture
async def make():
    """Start processes with the same database."""
    url, started = new_database(), []

    async def begun():
        started.append(Process(url))
        await started[-1].start()
        return started[-1]

    yield begun
    for process in started:
        await process.storage.aclose(1)


@pytest.mark.parametrize("seconds", [6, 11, 24 * 3600])
async def test_an_outage_expires_no_lease(make, seconds):
    first, second, third = [await make() for _ in range(3)]
    await first.let_pass(seconds)
    assert await first.sweep() == set()  # before any renewal
    assert await first.believes_in(second)
    await second.renew()
    assert await second.sweep() == set()
    await second.let_pass(LEASE - 4, first, third)
    assert await second.sweep() == set()  # the others get a full period
    await first.renew()
    await first.let_pass(5, third)
    assert await first.sweep() == {third.id}


@pytest.mark.parametrize("seconds", [6, 30])
async def test_a_process_started_after_an_outage_takes_no_tasks_of_live_ones(make, seconds):
    first, second = [await make() for _ in range(2)]
    await first.let_pass(seconds)
    new = await make()
    assert await new.sweep() == set()
    await second.renew()
    await new.let_pass(LEASE + 1, first)
    assert await new.sweep() == {first.id}


async def test_an_outage_revives_no_dead_process(make):
    first, dead, stopped, last = [await make() for _ in range(4)]
    await first.let_pass(LEASE + 1, dead)
    await stopped.storage.database.lease.give_back()
    await first.let_pass(30)
    await first.renew()
    assert await first.sweep() == {dead.id, stopped.id}
    assert await first.believes_in(last)


async def test_repeated_outages_expire_no_lease(make):
    first, second = [await make() for _ in range(2)]
    for _ in range(3):
        await first.let_pass(30)
        await first.renew()
        assert await first.sweep() == set()
    await first.let_pass(LEASE + 1, second)
    assert await first.sweep() == {second.id}


async def test_short_lived_processes_eventually_recover_tasks(make):
    dead = await make()
    for _ in range(3):  # each might have started after an outage
        await dead.let_pass(LEASE + 1)
        soon_dead = await make()
        assert await soon_dead.sweep() == set()
    await dead.let_pass(LEASE + 1)
    heir = await make()
    assert await heir.sweep() == {dead.id}


async def test_concurrent_renewals_after_an_outage(make):
    several = [await make() for _ in range(6)]
    for _ in range(5):
        await several[0].let_pass(30)
        await asyncio.gather(*(one.renew() for one in several))
        assert [await one.sweep() for one in several] == [set()] * 6


@pytest.mark.parametrize("kind", KINDS)
async def test_processes_continue_after_an_outage_longer_than_a_lease(kind, tmp_path):
    async with Outages(tmp_path, lease=5).running() as outages:
        assert await outages.lost(kind, 6) == 0
        assert await outages.finished() == {"0 1 2 "}
