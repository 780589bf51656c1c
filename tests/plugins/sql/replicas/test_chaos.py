"""Processes are killed and paused, and their database restarted: nothing is lost or done twice."""

from __future__ import annotations

import pytest

from tests.plugins.sql.replicas.chaos import Chaos

pytestmark = pytest.mark.timeout(600)


async def test_processes_that_die_and_sleep_lose_nothing_and_do_nothing_twice(tmp_path):
    seen = await Chaos(tmp_path, seed=1, tasks=200, blows=3).run()
    assert seen.wrong == []
    assert len(seen.tasks) == 200
    assert (seen.kills, seen.pauses, seen.restarts) == (1, 1, 1)
