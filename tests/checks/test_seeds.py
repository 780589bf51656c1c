"""Every seeded fault is found, by the check that is for it."""

from __future__ import annotations

import pytest

from a2a_adapters import check
from a2a_adapters.testing import running
from tests.checks.broken import Broken
from tests.checks.card_seeds import CARD_SEEDS
from tests.checks.support import guarded, plain
from tests.checks.wire_seeds import WIRE_SEEDS

SEEDS = [*CARD_SEEDS, *WIRE_SEEDS]


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
async def test_a_fault_is_found(seed):
    app = Broken(guarded() if seed.guarded else plain(), seed.edit)
    async with running(app) as url:
        report = await check(url, send=seed.sends)
    assert seed.found_by in {each.id for each in report.findings}, report
    assert not set(report.passed) & {each.id for each in report.findings}
