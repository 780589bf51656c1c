"""Code and formulas in answers."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.plugins.console.test_chat import say

pytestmark = [pytest.mark.thorough, pytest.mark.asyncio(loop_scope="session")]

CODE = '```python title="a.py"\ndef f(x): return "<b>"\n```'


async def answer_of(page, text):
    """Return the copied answer to a text."""
    await say(page, text)
    await expect(page.locator(".turn .state.good")).to_be_visible()
    return page.locator(".artifact")


async def test_code_is_coloured_and_stays_text(open_page, url):
    async with open_page(url, "copier") as page:
        answer = await answer_of(page, CODE)
        await expect(answer.locator(".hl-keyword")).to_have_text(["def", "return"])
        await expect(answer.locator(".hl-string")).to_have_text('"<b>"')
        await expect(answer.locator("pre")).to_have_text('def f(x): return "<b>"')


@pytest.mark.parametrize(
    "block",
    ["```\na\n```", "```nonsense\na\n```", "```__proto__\na\n```", "```python\na\u202eb\n```"],
)
async def test_other_code_is_plain(open_page, url, block):
    async with open_page(url, "copier") as page:
        answer = await answer_of(page, block)
        await expect(answer.locator("pre code")).to_contain_text("a")
        await expect(answer.locator("pre code [class^=hl]")).to_have_count(0)


@pytest.mark.parametrize(
    ("text", "count", "display"),
    [
        ("so $x^2$ it is", 1, ""),
        (r"so \(x^2\) and \(y\)", 2, ""),
        ("$$\n\\frac{1}{2}\n$$", 1, "block"),
        ("so\n\\[ \\sum_{i=1}^n i \\]\n", 1, "block"),
        ("from $5 to $10", 0, ""),
        ("`$x$` and \\$x\\$", 0, ""),
        (r"$\frac{$", 0, ""),
        (r"$\href{javascript:alert(1)}{x}$", 0, ""),
        ("$a\u202eb$", 0, ""),
    ],
)
async def test_formulas_are_mathml(open_page, url, text, count, display):
    async with open_page(url, "copier") as page:
        answer = await answer_of(page, text)
        await expect(answer.locator("math")).to_have_count(count)
        if display:
            await expect(answer.locator("math")).to_have_attribute("display", display)
        await expect(answer.locator("math a, math [href]")).to_have_count(0)


async def test_libraries_are_loaded_when_they_are_needed(open_page, url):
    async with open_page(url, "copier") as page:
        asked = []
        page.on("request", lambda sent: asked.append(sent.url.rpartition("/")[2]))
        await answer_of(page, "only words")
        assert not {"highlight.js", "temml.js"} & set(asked)
        await say(page, f"{CODE}\n\n$x$")
        await expect(page.locator(".artifact math")).to_be_visible()
        assert {"highlight.js", "temml.js"} <= set(asked)


async def test_a_formula_has_no_ids_and_stays_in_its_place(open_page, url):
    formula = r"$$\begin{equation}\label{message}\rule{900em}{900em}x\end{equation}$$"
    async with open_page(url, "copier") as page:
        answer = await answer_of(page, f"{formula}\n\nafter")
        await expect(answer.locator("math, .formula").first).to_be_visible()
        assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")
