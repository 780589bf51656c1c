"""The screenshots in the docs match the console."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.plugins.console.test_chat import say

pytestmark = [pytest.mark.thorough, pytest.mark.asyncio(loop_scope="session")]

DOCS = Path(__file__).parents[3] / "docs"

TOLERANCE = 16
"""Allowed difference of a colour (of 255); Chromium versions render text differently."""

ALLOWED = 0.005
"""Allowed share of different pixels, for the port and text rendering."""

COMPARE = """async (pictures) => {
    const [one, other] = await Promise.all(pictures.map(async (picture) => {
        const response = await fetch(`data:image/png;base64,${picture}`);
        const image = await createImageBitmap(await response.blob());
        const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height);
    }));
    if (one.width !== other.width || one.height !== other.height) return 1;
    let different = 0;
    for (let i = 0; i < one.data.length; i += 4) {
        const differs = (at) => Math.abs(one.data[at] - other.data[at]) > TOLERANCE;
        if (differs(i) || differs(i + 1) || differs(i + 2)) different += 1;
    }
    return different / (one.width * one.height);
}"""


async def difference(browser, *pictures):
    """Return the share of pixels that differ between two PNGs; 1 if their sizes do."""
    page = await browser.new_page()
    encoded = [base64.b64encode(picture).decode() for picture in pictures]
    found = await page.evaluate(COMPARE.replace("TOLERANCE", str(TOLERANCE)), encoded)
    await page.close()
    return found


async def shot(page):
    return await page.screenshot(animations="disabled", caret="hide")


FREEZE = """() => {
    const write = (selector, text) => document.querySelectorAll(selector).forEach((each, at) => {
        each.textContent = text(at);
    });
    write(".when", (at) => `+${at + 1}.2 s`);
    write(".took", () => "1.2 s");
    document.querySelectorAll(".bar span").forEach(({ style }) => {
        [style.marginLeft, style.width] = ["20%", "50%"];
    });
    write(".facts code", () => "01a21ac5afb376fdab13dbdc0ec7b899");
    write(".task time", () => "11/27/2026, 9:30:00 AM");
}"""
"""Replaces what differs with each run: times and ids."""


async def matches(browser, page, name):
    """Tell whether a page looks like its picture in the docs; `make screenshots` writes it."""
    await page.evaluate(FREEZE)
    picture = await shot(page)
    if "SCREENSHOTS" in os.environ:
        (DOCS / name).write_bytes(picture)
    return await difference(browser, picture, (DOCS / name).read_bytes()) <= ALLOWED


async def test_the_light_picture_matches(browser, open_page, url):
    async with open_page(url, "travel", color_scheme="light") as page:
        await page.set_viewport_size({"width": 1280, "height": 1000})
        await say(page, "To Lisbon, please: book it!")
        await page.get_by_role("button", name="Answer").wait_for()
        await expect(page.get_by_role("img", name="map.png")).to_be_visible()
        await expect(page.get_by_label("City")).to_be_focused()
        assert await matches(browser, page, "console.png")
        closed = await shot(page)
        await page.locator(".timeline summary").first.click()
        assert await difference(browser, await shot(page), closed) > ALLOWED, "changes are seen"


async def test_the_dark_picture_matches(browser, open_page, url):
    async with open_page(url, "analyst", color_scheme="dark") as page:
        await page.set_viewport_size({"width": 1280, "height": 1000})
        for number, text in enumerate(("Why did the sales fall in May?", "What should we charge?")):
            if number:
                await page.get_by_role("button", name="New conversation").click()
            await say(page, text)
            await expect(page.locator(".turn .state.good")).to_have_count(1)
        await expect(page.locator(".artifact math")).to_have_count(2)
        await page.get_by_role("tab", name="History").click()
        await page.locator(".timeline summary").first.click()
        await page.locator(".turns").evaluate("(box) => box.scrollTo(0, -9999)")
        assert await matches(browser, page, "console-dark.png")


async def test_the_narrow_picture_matches(browser, open_page, url):
    async with open_page(url, "clerk", color_scheme="light") as page:
        await page.set_viewport_size({"width": 320, "height": 640})
        await say(page, "Good morning!")
        await expect(page.get_by_text("What is your name?")).to_be_visible()
        await say(page, "Ada")
        await expect(page.locator(".turn .state.good")).to_have_count(1)
        assert await matches(browser, page, "console-narrow.png")
