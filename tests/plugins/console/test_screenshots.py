"""The screenshots in the docs match the console."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.plugins.console.test_chat import say

pytestmark = pytest.mark.asyncio(loop_scope="session")

PICTURE = Path(__file__).parents[3] / "docs" / "console.png"

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


async def test_the_screenshot_matches_the_console(browser, open_page, url):
    async with open_page(url, "travel", color_scheme="light") as page:
        await page.set_viewport_size({"width": 1280, "height": 1000})
        await say(page, "To Lisbon, please: book it!")
        await page.get_by_role("button", name="Answer").wait_for()
        await expect(page.get_by_role("img", name="map.png")).to_be_visible()
        closed = await shot(page)
        await page.locator(".timeline summary").first.click()
        picture = await shot(page)
    if "SCREENSHOTS" in os.environ:  # `make screenshots`
        PICTURE.write_bytes(picture)
    assert await difference(browser, picture, PICTURE.read_bytes()) <= ALLOWED
    assert await difference(browser, picture, closed) > ALLOWED, "small changes are seen"
