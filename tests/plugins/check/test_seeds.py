"""Every seeded fault is found by its check."""

from __future__ import annotations

import pytest

from a2a_adapters import check
from a2a_adapters.testing import running
from tests.plugins.check.broken import Broken
from tests.plugins.check.card_seeds import CARD_SEEDS
from tests.plugins.check.sending_seeds import SENDING_SEEDS
from tests.plugins.check.wire_seeds import WIRE_SEEDS

pytestmark = pytest.mark.timeout(5 * 60)

READING_SEEDS = [*CARD_SEEDS, *WIRE_SEEDS]


async def findings_of(seed, *, send):
    app = Broken(seed.app(), seed.edit, edits_subscriptions=seed.edits_subscriptions)
    async with running(app) as url:
        report = await check(url, send=send)
    found = {each.id for each in report.findings}
    assert not found & {*report.passed, *report.skipped}
    return found


@pytest.mark.parametrize("seed", READING_SEEDS, ids=lambda seed: seed.name)
async def test_a_fault_is_found(seed):
    assert seed.found_by in await findings_of(seed, send=seed.sends)


@pytest.mark.parametrize("seed", SENDING_SEEDS, ids=lambda seed: seed.name)
async def test_a_fault_is_found_by_messages(seed):
    assert seed.found_by in await findings_of(seed, send=True)
