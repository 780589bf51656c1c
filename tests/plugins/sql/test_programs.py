"""Small versions of `make crash`, `make chaos` and `make replicas`."""

from __future__ import annotations

import asyncio

import pytest

from tests.plugins.sql.crash import Crash
from tests.plugins.sql.replicas.bars import behind, cancel_all, read_all, replicas
from tests.plugins.sql.replicas.chaos import Chaos

pytestmark = pytest.mark.thorough


@pytest.mark.timeout(400)
async def test_a_crash_loses_nothing_and_repeats_nothing(database_url, tmp_path):
    seen = await Crash(database_url, tmp_path, seed=1, tasks=120).run()
    assert seen.wrong == []
    assert seen.acked
    assert seen.whole >= seen.resumed > 0
    assert seen.broken > 0


@pytest.mark.timeout(600)
async def test_failures_of_processes_lose_and_repeat_nothing(tmp_path):
    seen = await Chaos(tmp_path, seed=1, tasks=200, blows=3).run()
    assert seen.wrong == []
    assert len(seen.tasks) == 200
    assert (seen.kills, seen.pauses, seen.restarts) == (1, 1, 1)


@pytest.mark.timeout(600)
def test_streams_are_whole_and_tasks_stop_through_another_process(tmp_path):
    with replicas(tmp_path, 2) as urls:
        pairs = asyncio.run(read_all(urls, tmp_path, streams=10, chunks=20))
        took = asyncio.run(cancel_all(urls, tmp_path, tries=4))
    assert all(each.is_whole(20) for pair in pairs for each in pair)
    assert len(behind(pairs)) == 200
    assert len(took) == 4
