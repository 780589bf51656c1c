"""PDF files, in a browser that can show them."""

from __future__ import annotations

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.plugins.console.conftest import launched_browser

pytestmark = [pytest.mark.thorough, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def browser():
    async with launched_browser("chromium", "google-chrome") as browser:
        yield browser


PDF = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/MediaBox[0 0 99 99]/Parent 2 0 R>>endobj
trailer<</Root 1 0 R>>"""


async def test_a_pdf_is_shown_on_demand(open_page, url):
    async with open_page(url, "copier") as page:
        await page.locator("input[type=file][multiple]").set_input_files(
            {"name": "plan.pdf", "mimeType": "application/pdf", "buffer": PDF}
        )
        await page.get_by_role("button", name="Send").click()
        answer = page.locator(".said.agent")
        await expect(answer.get_by_role("link", name="plan.pdf")).to_be_visible()
        await expect(answer.locator("iframe")).to_have_count(0)
        await answer.get_by_text("Show").click()
        frame = answer.get_by_title("plan.pdf")
        await expect(frame).to_be_visible()
        inner = await (await frame.element_handle()).content_frame()
        await inner.wait_for_load_state()
        assert inner.url.startswith("blob:")
