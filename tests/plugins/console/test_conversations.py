"""The list of conversations: search, rename, delete, export and import."""

from __future__ import annotations

import json
import re

import pytest
from playwright.async_api import expect

from tests.plugins.console.test_chat import say

pytestmark = [pytest.mark.thorough, pytest.mark.asyncio(loop_scope="session")]


async def talk(page, *texts):
    """Have a conversation for each text, and show the list."""
    for number, text in enumerate(texts):
        if number:
            await page.get_by_role("button", name="New conversation").click()
        await say(page, text)
        await expect(page.locator(".turn .state.good")).to_have_count(1)
    await page.get_by_role("tab", name="History").click()


def titles(page):
    return page.get_by_role("tabpanel").locator(".task .line")


async def test_conversations_are_listed_searched_and_opened(open_page, url):
    async with open_page(url, "copier") as page:
        await talk(page, "Trains to Lisbon\nand back", "A table for two")
        await expect(titles(page)).to_have_text(["A table for two", "Trains to Lisbon"])
        await page.get_by_label("Search conversations").fill("LISBON")
        await expect(titles(page)).to_have_text(["Trains to Lisbon"])
        await titles(page).click()
        await expect(page.locator(".said.user")).to_contain_text("and back")
        await page.get_by_label("Search conversations").fill("Oslo")
        await expect(page.get_by_text("No conversation has these words")).to_be_visible()


async def test_conversations_belong_to_their_agent(open_page, url):
    async with open_page(url, "copier") as page:
        await talk(page, "hello")
        await expect(titles(page)).to_have_count(1)
        await page.get_by_label("Agent", exact=True).select_option("clerk")
        await expect(titles(page)).to_have_count(0)


async def test_a_conversation_is_renamed_and_deleted(open_page, url):
    async with open_page(url, "copier") as page:
        await talk(page, "one", "two")
        await page.get_by_role("button", name="Rename one").click()
        await page.get_by_label("Title").fill("first")
        await page.get_by_label("Title").press("Enter")
        await expect(titles(page)).to_have_text(["two", "first"])
        tab = await page.context.new_page()
        await tab.goto(page.url)
        await tab.get_by_role("tab", name="History").click()
        await tab.get_by_role("button", name="Delete two").click()
        await expect(titles(page)).to_have_text(["first"])
        await expect(tab.locator(".turn")).to_have_count(0)
        await page.reload()
        await page.get_by_role("tab", name="History").click()
        await expect(titles(page)).to_have_text(["two", "first"])


async def test_the_browser_keeps_titles_and_ids_only(open_page, url):
    async with open_page(url, "copier") as page:
        await talk(page, "the title\nthe message")
        state = json.dumps(await page.context.storage_state())
        assert "the title" in state
        assert "the message" not in state


async def exported(page):
    async with page.expect_download() as downloading:
        await page.get_by_role("button", name="Export").click()
    return await downloading.value


async def test_a_conversation_is_exported_and_imported(open_page, url):
    async with open_page(url, "travel") as page, open_page(url, "travel") as other:
        await talk(page, "To Lisbon, please!")
        file = await exported(page)
        assert file.suggested_filename == "To-Lisbon-please.json"
        content = json.loads((await file.path()).read_text())
        assert content["title"] == "To Lisbon, please!"
        assert content["agent"] == {"name": "travel", "url": f"{url}/agents/travel/"}
        await other.get_by_role("tab", name="History").click()
        await other.get_by_label("Conversation file").set_input_files(await file.path())
        await expect(other.locator(".said.user")).to_have_text("To Lisbon, please!")
        await expect(other.get_by_role("cell", name="EN 472")).to_be_visible()
        await expect(other.locator(".timeline")).to_contain_text("1 tool call, 1 step")
        await expect(other).to_have_url(re.compile(content["contextId"]))
        await say(other, "again")
        await expect(other.locator(".turn .state.good")).to_have_count(2)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("not JSON", "is not an exported conversation"),
        ('{"turns": []}', "is not an exported conversation"),
        ({"turns": [{"sent": "text"}]}, "is not an exported conversation"),
        ({"turns": [{"artifacts": [{"parts": {}}]}]}, "is not an exported conversation"),
        ({"version": 2, "turns": []}, "has version 2; this console reads version 1"),
    ],
)
async def test_other_files_are_refused(open_page, url, content, reason):
    if isinstance(content, dict):
        content = json.dumps({"format": "a2a-adapters conversation", "version": 1} | content)
    async with open_page(url, "copier") as page:
        await page.get_by_role("tab", name="History").click()
        await page.get_by_label("Conversation file").set_input_files(
            {"name": "a.json", "mimeType": "application/json", "buffer": content.encode()}
        )
        await expect(page.get_by_role("alert")).to_contain_text(reason)


async def test_an_imported_file_is_not_trusted(open_page, url):
    harm = {"text": "<img src=x onerror='window.harmed = 1'>", "metadata": None}
    turn = {
        "sent": [harm],
        "artifacts": [{"artifactId": "1", "parts": [harm, {"data": {"__proto__": [harm]}}]}],
        "state": {"x": 1},
        "steps": [{"name": ["a"], "at": "x"}],
    }
    content = {"format": "a2a-adapters conversation", "version": 1, "turns": [turn, {"said": {}}]}
    async with open_page(url, "copier") as page:
        await page.get_by_role("tab", name="History").click()
        await page.get_by_label("Conversation file").set_input_files(
            {"name": "a.json", "mimeType": "", "buffer": json.dumps(content).encode()}
        )
        await expect(page.locator(".turn").first).to_contain_text("<img src=x")
        assert await page.evaluate("window.harmed") is None
        await page.get_by_role("button", name="New conversation").click()
        await say(page, "hello")
        await expect(page.locator(".turn .state.good")).to_have_count(1)
