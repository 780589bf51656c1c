"""Kills, suspensions and database restarts neither lose nor repeat work."""

from __future__ import annotations

import pytest

from tests.plugins.sql.replicas.chaos import Chaos

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]


async def test_failures_of_processes_lose_and_repeat_nothing(tmp_path):
    seen = await Chaos(tmp_path, seed=1, tasks=200, blows=3).run()
    assert seen.wrong == []
    assert len(seen.tasks) == 200
    assert (seen.kills, seen.pauses, seen.restarts) == (1, 1, 1)
