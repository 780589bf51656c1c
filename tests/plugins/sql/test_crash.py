"""Killing a server under load loses, blocks and repeats nothing."""

from __future__ import annotations

import pytest

from tests.plugins.sql.crash import Crash

pytestmark = pytest.mark.thorough


@pytest.mark.timeout(400)
async def test_a_crash_loses_nothing_and_repeats_nothing(database_url, tmp_path):
    seen = await Crash(database_url, tmp_path, seed=1, tasks=120).run()
    assert seen.wrong == []
    assert seen.acked
    assert seen.whole >= seen.resumed > 0
    assert seen.broken > 0
