"""Every check is documented, and finds its seeded faults."""

from __future__ import annotations

from pathlib import Path

import pytest
from a2a_adapters_check import check
from a2a_adapters_check.runner import CHECKS

from a2a_adapters.testing import running
from tests.plugins.check.broken import Broken
from tests.plugins.check.card_seeds import CARD_SEEDS
from tests.plugins.check.sending_seeds import SENDING_SEEDS
from tests.plugins.check.wire_seeds import WIRE_SEEDS

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(5 * 60)]


@pytest.mark.parametrize(
    "seed", [*CARD_SEEDS, *WIRE_SEEDS, *SENDING_SEEDS], ids=lambda seed: seed.name
)
async def test_a_fault_is_found(seed):
    app = Broken(seed.app(), seed.edit, edits_subscriptions=seed.edits_subscriptions)
    async with running(app) as url:
        report = await check(url, send=seed.sends or seed in SENDING_SEEDS)
    found = {each.id for each in report.findings}
    assert not found & {*report.passed, *report.skipped}
    assert seed.found_by in found


PAGE = Path(__file__).parents[3] / "docs" / "check.md"


def test_the_page_lists_every_check():
    rows = [
        f"| `{each.id}`{' `--send`' if each.sends else ''} | {each.title} | {each.severity} "
        f"| {each.clause} |"
        for each in CHECKS
    ]
    table = PAGE.read_text().partition("|---|---|---|---|\n")[2].split("\n\n")[0]
    assert table.splitlines() == rows, "\n".join(["expected table:", *rows])


def test_ids_are_unique_and_named_after_their_theme():
    ids = [each.id for each in CHECKS]
    assert len(set(ids)) == len(ids)
    assert all(each.title and each.remedy.endswith(".") and each.clause for each in CHECKS)
