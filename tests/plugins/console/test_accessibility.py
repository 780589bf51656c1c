"""The console for everybody: axe-core, contrast, forced colours, small screens."""

from __future__ import annotations

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect

from tests.plugins.console.test_chat import say

pytestmark = [pytest.mark.thorough, pytest.mark.asyncio(loop_scope="session")]

LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "high contrast": {"contrast": "more"},
    "forced colours": {"forced_colors": "active", "color_scheme": "dark"},
}

MARKDOWN = """# Heading

- [x] an *item* with `code` and a [link](https://example.org)

| a | b |
|---|--:|
| 1 | 2 |

$$x^2$$

```python
# a comment
@decorated
def f(x: int = 1) -> str: return f"a {x}"
```

> quoted
"""

AXE = Axe()


async def size(page, width):
    await page.set_viewport_size({"width": width, "height": 800})


async def views(page):
    """Show each view in turn."""
    for tab in await page.get_by_role("tab").all():
        await tab.click()
        if await tab.text_content() == "Frames":
            await page.locator(".frame summary").first.click()
        yield await tab.text_content()


@pytest.mark.parametrize(("look", "width"), [*((look, 1280) for look in LOOKS), ("light", 320)])
async def test_axe_finds_nothing(open_page, url, look, width):
    async with open_page(url, "travel", **LOOKS[look]) as page:
        await size(page, width)
        assert await violations(page) == []
        await say(page, "book it")
        await expect(page.get_by_label("City")).to_be_visible()
        await page.locator(".timeline summary").first.click()
        await page.locator(".timeline").get_by_text("search_trains").click()
        assert await violations(page) == []
        async for view in views(page):
            assert await violations(page) == [], view
        await page.get_by_role("button", name="Headers").click()
        assert await violations(page) == []


@pytest.mark.parametrize("look", LOOKS)
async def test_axe_finds_nothing_in_markdown(open_page, url, look):
    async with open_page(url, "copier", **LOOKS[look]) as page:
        await say(page, MARKDOWN)
        await expect(page.locator(".artifact math")).to_be_visible()
        await expect(page.locator(".artifact .hl-keyword").first).to_be_visible()
        assert await violations(page) == []


async def test_nothing_is_wider_than_a_small_phone(open_page, url):
    async with open_page(url, "travel", is_mobile=True, has_touch=True) as page:
        await size(page, 320)
        await say(page, "book it")
        await expect(page.get_by_label("City")).to_be_visible()
        wide = "document.documentElement.scrollWidth > innerWidth"
        assert not await page.evaluate(wide)
        async for view in views(page):
            assert not await page.evaluate(wide), view
            cut = """[...document.querySelectorAll("button, input, select, [role=tab]")]
                .filter((each) => each.offsetParent && each.getBoundingClientRect().right > 321)
                .map((each) => each.outerHTML)"""
            assert await page.evaluate(cut) == [], view


async def test_high_contrast_has_black_on_white(open_page, url):
    async with open_page(url, contrast="more", color_scheme="light") as page:
        style = "getComputedStyle(document.body)"
        colours = await page.evaluate(f"[{style}.color, {style}.backgroundColor]")
        assert colours == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]


async def violations(page):
    """Return a line for each violation on a page."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE.axe_script)
    results = await page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        f"{each['id']}: {node['html']} {node['failureSummary']}"
        for each in results["violations"]
        for node in each["nodes"]
    ]
