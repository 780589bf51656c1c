"""Conversations in the console."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.plugins.console.agents import picture

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def say(page, text):
    await page.get_by_label("Message", exact=True).fill(text)
    await page.get_by_label("Message", exact=True).press("Enter")


async def test_an_answer_is_shown_as_text_tables_images_and_steps(open_page, url):
    async with open_page(url, "travel") as page:
        await say(page, "To Lisbon, please.")
        await expect(page.locator(".state.good")).to_have_text("done")
        answer = page.locator(".said.agent")
        await expect(answer.locator(".markdown strong").first).to_have_text("Berlin")
        await expect(answer.locator("ol li em, .markdown em").first).to_have_text("quicker")
        link = answer.get_by_role("link", name="Paris")
        await expect(link).to_have_attribute("href", "https://example.org/paris")
        await expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
        table = answer.get_by_role("table")
        await expect(table.get_by_role("cell", name="EN 472")).to_be_visible()
        header = table.get_by_role("columnheader", name="train")
        await expect(header).to_have_attribute("title", "Its number")
        image = answer.get_by_role("img", name="map.png")
        assert (
            await image.evaluate("async (image) => (await image.decode(), image.naturalWidth)")
            == 240
        )
        await answer.get_by_text("1 tool call, 1 step").click()
        await answer.get_by_text("search_trains").click()
        await expect(answer.locator(".timeline")).to_contain_text("ICE 73")
        await expect(answer.locator(".timeline")).to_contain_text("Comparing prices")


LIST = """\
- [x] pack
  1. shirts
  2. ~~socks~~

| day | city |
|-----|------|
| 1   | Oslo |

* * * * * * * * * *

```
<b>code</b>
```
"""


async def test_common_markdown_is_rendered(open_page, url):
    async with open_page(url, "copier") as page:
        await say(page, LIST)
        answer = page.locator(".artifact .markdown")
        await expect(answer.locator("ul > li").first).to_contain_text("☑ pack")
        await expect(answer.locator("hr")).to_have_count(1)
        await expect(answer.locator("ul ol del")).to_have_text("socks")
        await expect(answer.get_by_role("cell", name="Oslo")).to_be_visible()
        await expect(answer.locator("pre code")).to_have_text("<b>code</b>")


async def test_a_question_with_a_schema_is_a_form(open_page, url):
    async with open_page(url, "travel") as page:
        await say(page, "book it")
        form = page.locator("form.form")
        await form.get_by_role("button", name="Answer").click()
        await expect(form.locator("select:invalid")).to_have_attribute("name", "city")
        await form.get_by_label("City").select_option("Oslo")
        await expect(form.get_by_label("Nights")).to_have_value("3")
        await form.get_by_label("Nights").fill("5")
        await form.get_by_role("button", name="Answer").click()
        await expect(page.get_by_text("Booked: 5 nights in Oslo.")).to_be_visible()
        await expect(page.get_by_role("cell", name="EN 472")).to_have_count(1)


async def test_a_question_is_answered_in_place(open_page, url):
    async with open_page(url, "clerk") as page:
        await say(page, "hello")
        await expect(page.get_by_text("What is your name?")).to_be_visible()
        await expect(page.get_by_placeholder("Your answer")).to_be_visible()
        await say(page, "Ada")
        await expect(page.get_by_text("Hello Ada!")).to_be_visible()


async def test_corrected_text_is_shown_once(open_page, url):
    async with open_page(url, "drafter") as page:
        await say(page, "write")
        await expect(page.locator(".artifact")).to_have_text("A draft.")
        await say(page, "yes")
        await expect(page.locator(".state.good")).to_have_count(1)
        await expect(page.locator(".artifact")).to_have_text("An edit.Sent.")
        await expect(page.get_by_text("Send it?")).to_be_visible()


async def test_a_decision_is_a_button(open_page, url):
    async with open_page(url, "approver") as page:
        await say(page, "clean up")
        await page.get_by_role("button", name="reject").click()
        await expect(page.get_by_text("You said reject.")).to_be_visible()


async def test_options_are_buttons(open_page, url):
    async with open_page(url, "chooser") as page:
        await say(page, "paint")
        question = page.locator(".question")
        await expect(question).to_contain_text("price")
        for hidden in ("i1", "interrupt_id", "response_schema", "options"):
            await expect(question).not_to_contain_text(hidden)
        await question.get_by_role("button", name="green").click()
        await expect(page.get_by_text("You chose green.")).to_be_visible()


async def test_the_arguments_of_a_tool_are_edited_in_a_form(open_page, url):
    async with open_page(url, "reviewer") as page:
        await say(page, "mail")
        question = page.locator(".question")
        await expect(question.get_by_role("button", name="approve")).to_be_visible()
        await expect(question).not_to_contain_text("review_configs")
        await question.get_by_role("button", name="edit").click()
        await question.get_by_label("to").fill("Bob")
        await question.get_by_role("button", name="Answer").click()
        said = page.locator(".artifact").last
        for piece in ('"type": "edit"', '"to": "Bob"', '"count": 2'):
            await expect(said).to_contain_text(piece)


async def test_an_answer_is_streamed_and_cancelled(open_page, url):
    async with open_page(url, "endless") as page:
        await say(page, "count")
        await expect(page.locator(".artifact")).to_contain_text("1 2 3")
        await page.get_by_role("button", name="Stop").click()
        await expect(page.locator(".turn .state")).to_have_text("cancelled")
        await expect(page.get_by_role("button", name="Send")).to_be_visible()


async def test_a_new_conversation_starts_empty(open_page, url):
    async with open_page(url, "copier") as page:
        contexts = []
        page.on("request", lambda sent: sent.method == "POST" and contexts.append(
            sent.post_data_json["params"]["message"].get("contextId")
        ))  # fmt: skip
        for text in ("one", "two"):
            await say(page, text)
            await expect(page.locator(".state.good")).to_have_count(1 if text == "one" else 2)
        await page.get_by_role("button", name="New conversation").click()
        await expect(page.locator(".turn")).to_have_count(0)
        await say(page, "three")
        await expect(page.locator(".state.good")).to_have_count(1)
        first, second, third = contexts
        assert first is None
        assert second
        assert third is None


@pytest.mark.parametrize(
    ("kind", "event", "holds"),
    [("drop", "DragEvent", "dataTransfer"), ("paste", "ClipboardEvent", "clipboardData")],
)
async def test_files_are_dropped_and_pasted(open_page, url, kind, event, holds):
    give = """(place, [kind, event, holds, words]) => {
        const data = new DataTransfer();
        data.items.add(new File(["hello"], "note.bin"));
        if (words) data.setData("text/plain", words);
        const given = new window[event](kind, {[holds]: data, bubbles: true, cancelable: true});
        return place.dispatchEvent(given);
    }"""
    async with open_page(url, "copier") as page:
        place = page.get_by_label("Message", exact=True)
        assert await place.evaluate(give, [kind, event, holds, "words of an office"])
        assert not await place.evaluate(give, [kind, event, holds, ""])
        await expect(page.locator(".composer .chip")).to_have_count(1)
        await page.get_by_role("button", name="Send").click()
        link = page.locator(".said.agent").get_by_role("link", name="note.bin")
        async with page.expect_download() as downloading:
            await link.click()
        assert (await (await downloading.value).path()).read_bytes() == b"hello"


async def test_files_are_uploaded_and_downloaded(open_page, url):
    async with open_page(url, "copier") as page:
        await page.locator("input[type=file]").set_input_files(
            [
                {"name": "a.png", "mimeType": "image/png", "buffer": picture()},
                {"name": "b.bin", "mimeType": "application/x-thing", "buffer": b"\x00\xff"},
            ]
        )
        await page.get_by_role("button", name="Send").click()
        answer = page.locator(".said.agent")
        await expect(answer.get_by_role("img", name="a.png")).to_be_visible()
        async with page.expect_download() as downloading:
            await answer.get_by_role("link", name="b.bin").click()
        download = await downloading.value
        assert download.suggested_filename == "b.bin"
        assert (await download.path()).read_bytes() == b"\x00\xff"


async def test_two_pages_are_isolated(open_page, url):
    async with open_page(url, "clerk") as first, open_page(url, "clerk") as second:
        for page in (first, second):
            await say(page, "hello")
        for page, name in ((second, "Bea"), (first, "Ada")):
            await expect(page.get_by_text("What is your name?")).to_be_visible()
            await say(page, name)
        await expect(first.get_by_text("Hello Ada!")).to_be_visible()
        await expect(second.get_by_text("Hello Bea!")).to_be_visible()
        await expect(first.get_by_text("Bea")).to_have_count(0)


async def test_each_agent_keeps_its_conversation(open_page, url):
    async with open_page(url, "clerk") as page:
        await say(page, "hello")
        await expect(page.get_by_text("What is your name?")).to_be_visible()
        await page.get_by_label("Agent", exact=True).select_option("copier")
        await expect(page.get_by_role("heading", name="copier").first).to_be_visible()
        await page.get_by_label("Agent", exact=True).select_option("clerk")
        await expect(page.get_by_text("What is your name?")).to_be_visible()
