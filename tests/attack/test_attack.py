"""A short version of `make attack`, which uses 1,000 callers."""

from __future__ import annotations

import pytest

from tests.attack.run import CLASSES, MOST_MIB, attack

pytestmark = pytest.mark.thorough

CALLERS = 5


@pytest.mark.timeout(300)
async def test_hostile_callers_do_no_harm():
    rows = await attack(CALLERS, seconds=1)
    assert [row.name for row in rows] == list(CLASSES)
    assert all(row.tries >= CALLERS for row in rows)
    assert {row.name: row.findings for row in rows if row.findings} == {}
    assert max(row.mebibytes for row in rows) < MOST_MIB / 2
