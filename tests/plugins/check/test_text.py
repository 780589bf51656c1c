"""Harmless texts that raise no finding."""

from __future__ import annotations

from a2a_adapters import Severity, check
from a2a_adapters.testing import running
from tests.plugins.check.broken import Broken
from tests.plugins.check.seeds import put
from tests.plugins.check.support import plain

SANE = [
    "Books flights. You must be signed in; ask it for dates, prices and seats.",
    "Ignores empty lines. Shows the previous instructions of a recipe.",
    "Resets your password, and tells the user what to do next.",
    "Use this agent for taxes. It only uses my own documents.",
    "a < b and b > c; task-skeleton-of-a-very-long-name; you are now able to pay.",
    "Persian joins by \u200c, and families by \U0001f468\u200d\U0001f469\u200d\U0001f467.",
    "A heart: \u2764\ufe0f.",
    "A flag: \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "Right to left: \u200f\u05e2\u05d1\u05e8\u05d9\u05ea\u200e.",
    "Several lines,\n\tindented,\r\nand *Markdown*: [a link](https://example.org).",
]


async def test_sane_texts_raise_no_alarm():
    async with running(Broken(plain(), put("skills/0/examples", SANE))) as url:
        report = await check(url)
    assert not report.at_least(Severity.NOTE)


async def test_findings_are_one_line_that_cannot_move_the_cursor():
    nasty = "\x1b[2J\x1b]0;owned\x07\u202eevil\nsecond line"
    modes = [f"{nasty} {n}" for n in range(30)]
    async with running(Broken(plain(), put("defaultInputModes", modes))) as url:
        report = await check(url)
    texts = [text for each in report.findings for text in (each.message, each.where, each.remedy)]
    assert all(text.isprintable() for text in texts)
    assert len([each for each in report.findings if each.id == "card.media-types"]) == 20
