"""Kills of servers and workers lose no task and repeat no finished step."""

from __future__ import annotations

import pytest

from tests.end_to_end.engines.chaos import Chaos

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(900)]


async def test_kills_lose_and_repeat_nothing(tmp_path):
    seen = await Chaos("dbos", tmp_path, tasks=20, kills=3).run()
    assert seen.wrong == []
    assert (seen.done, seen.kills.total()) == (20, 3)
