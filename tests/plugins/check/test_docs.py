"""The documentation page lists all checks."""

from __future__ import annotations

from pathlib import Path

from a2a_adapters_check.run import CHECKS

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
