"""A short `make blackbox`: servers are killed under plain HTTP clients of two owners."""

from __future__ import annotations

import pytest

from tests.blackbox.run import Run

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]


async def test_kills_break_no_guarantee(tmp_path):
    storage = f"sqlite:///{tmp_path}/agents.db"
    report = await Run(tmp_path, storage, 1, tasks=27, kills=1, processes=1).play()
    assert report.wrong == []
    assert report.kills == 1
    assert report.trespasses == 10 * 27
    assert sum(report.states.values()) == 27
