"""The pictures of the docs, made of the console as it is."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.plugins.console.test_chat import say

pytestmark = pytest.mark.asyncio(loop_scope="session")

PICTURE = Path(__file__).parents[3] / "docs" / "console.png"


def size(png):
    """Return the width and height of a PNG, which are in its first chunk."""
    return struct.unpack(">II", png[16:24])


async def test_the_docs_show_the_console_as_it_is(open_page, url):
    async with open_page(url, "travel", color_scheme="light") as page:
        await say(page, "To Lisbon, please: book it!")
        await page.get_by_role("button", name="Answer").wait_for()
        await page.locator(".timeline summary").first.click()
        await expect(page.get_by_role("img", name="map.png")).to_be_visible()
        await page.set_viewport_size({"width": 1280, "height": 1000})
        picture = await page.screenshot(animations="disabled", caret="hide")
    if "SCREENSHOTS" in os.environ:  # `make screenshots`
        PICTURE.write_bytes(picture)
    assert size(picture) == size(PICTURE.read_bytes())
