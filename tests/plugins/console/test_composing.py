"""Messages in the console: queued, edited, repeated, copied."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.plugins.console.agents import GO_ON
from tests.plugins.console.test_chat import say

pytestmark = [pytest.mark.thorough, pytest.mark.asyncio(loop_scope="session")]

CLIPBOARD = ["clipboard-read", "clipboard-write"]


async def copied(page, button):
    await page.evaluate("navigator.clipboard.writeText('')")
    await button.click()
    return await (await page.wait_for_function("navigator.clipboard.readText()")).json_value()


async def test_a_message_waits_for_the_agent(open_page, url):
    GO_ON.clear()
    async with open_page(url, "patient") as page:
        await say(page, "one")
        await expect(page.get_by_role("button", name="Stop")).to_be_visible()
        for text in ("two", "three"):
            await say(page, text)
        queue = page.get_by_role("list", name="Queue").get_by_role("listitem")
        await expect(queue).to_have_count(2)
        await queue.last.get_by_role("button", name="Remove from the queue").click()
        await expect(queue).to_contain_text(["two"])
        GO_ON.set()
        await expect(page.locator(".turn .state.good")).to_have_count(2)
        await expect(page.locator(".said.user")).to_have_text(["one", "two"])
        await expect(queue).to_have_count(0)


async def test_a_queued_message_does_not_answer_a_question(open_page, url):
    GO_ON.clear()
    async with open_page(url, "slow_clerk") as page:
        await say(page, "hello")
        await expect(page.get_by_role("button", name="Stop")).to_be_visible()
        await say(page, "later")
        await expect(page.get_by_role("list", name="Queue")).to_contain_text("later")
        GO_ON.set()
        await expect(page.get_by_placeholder("Your answer")).to_be_visible()
        await expect(page.get_by_role("list", name="Queue")).to_contain_text("not sent")
        await say(page, "Ada")
        await expect(page.get_by_text("Hello Ada!")).to_be_visible()
        await expect(page.locator(".said.user")).to_have_text(["hello", "Ada", "later"])


async def test_a_message_is_edited_and_repeated(open_page, url):
    async with open_page(url, "copier") as page:
        await page.locator("input[type=file][multiple]").set_input_files(
            {"name": "b.bin", "mimeType": "application/x-thing", "buffer": b"\x00\xff"}
        )
        await say(page, "one")
        await expect(page.locator(".turn .state.good")).to_have_count(1)
        await page.get_by_role("button", name="Edit").click()
        message = page.get_by_label("Message", exact=True)
        await expect(message).to_be_focused()
        await expect(message).to_have_value("one")
        await expect(page.locator(".composer .chip")).to_contain_text("b.bin 2 bytes")
        await say(page, "two")
        await expect(page.locator(".turn .state.good")).to_have_count(2)
        await page.get_by_role("button", name="Retry").last.click()
        await expect(page.locator(".turn .state.good")).to_have_count(3)
        await expect(page.locator(".said.user .markdown")).to_have_text(["one", "two", "two"])


async def test_messages_answers_and_code_are_copied(open_page, url):
    text = "Run it:\n\n```\nmake **demo**\n```"
    async with open_page(url, "copier", permissions=CLIPBOARD) as page:
        await say(page, text)
        await expect(page.locator(".turn .state.good")).to_be_visible()
        own = page.locator(".own").get_by_role("button", name="Copy")
        assert await copied(page, own) == text
        assert await copied(page, page.get_by_role("button", name="Copy reply")) == text
        code = page.locator(".artifact .code").get_by_role("button", name="Copy")
        assert await copied(page, code) == "make **demo**"


async def test_the_end_is_one_click_away(open_page, url):
    async with open_page(url, "copier") as page:
        await say(page, "a line\n\n" * 60)
        state = page.locator(".turn .state.good")
        await expect(state).to_be_in_viewport()
        jump = page.get_by_role("button", name="Jump to latest")
        await expect(jump).to_have_count(0)
        await page.locator(".turns").evaluate("(box) => box.scrollBy(0, -600)")
        await jump.click()
        await expect(state).to_be_in_viewport()
        await expect(jump).to_have_count(0)


async def test_a_form_gets_the_focus(open_page, url):
    async with open_page(url, "travel") as page:
        await say(page, "book it")
        await expect(page.get_by_label("City")).to_be_focused()
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Tab")
        await expect(page.get_by_label("Nights")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Booked: 3 nights in Lisbon.")).to_be_visible()


async def test_numbers_are_aligned(open_page, url):
    async with open_page(url, "travel") as page:
        await say(page, "To Lisbon, please.")
        side = "(cell) => getComputedStyle(cell).textAlign"
        assert await page.get_by_role("cell", name="27").evaluate(side) == "right"
        assert await page.get_by_role("cell", name="EN 472").evaluate(side) == "left"
