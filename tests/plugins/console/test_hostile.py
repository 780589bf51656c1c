"""Hostile agents."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import expect

from tests.plugins.console.test_chat import say

pytestmark = [pytest.mark.thorough, pytest.mark.asyncio(loop_scope="session")]


async def open_all(page):
    """Expand all elements, including newly revealed ones."""
    closed = page.locator("details:not([open])")
    while await closed.count():
        await closed.evaluate_all("(all) => all.forEach((one) => { one.open = true })")


async def test_content_of_agents_neither_runs_nor_loads(open_page, url):
    async with open_page(url, "hostile") as page:
        asked = []
        page.on("request", lambda sent: asked.append(sent.url))
        await say(page, "harm me")
        await expect(page.locator(".state.asks")).to_have_text("asks you")
        await page.get_by_role("button", name="Answer").wait_for()
        await page.get_by_role("tab", name="Frames").click()
        await open_all(page)
        assert await page.evaluate("window.harmed") is None
        assert await page.evaluate("({}).harmed") is None
        turns = page.locator(".turns")
        await expect(turns).to_contain_text("<script>window.harmed = 1</script>")
        await expect(turns.locator("script, iframe, object, embed, u, s, i")).to_have_count(0)
        assert {urls.split("/")[2] for urls in asked if not urls.startswith("blob:")} == {
            url.removeprefix("http://")
        }
        links = await turns.get_by_role("link").evaluate_all("(all) => all.map((one) => one.href)")
        assert {link.partition(":")[0] for link in links} <= {"https", "blob"}


async def test_an_html_file_is_only_downloaded(open_page, url):
    async with open_page(url, "hostile") as page:
        await say(page, "harm me")
        link = page.get_by_role("link", name="page.html")
        assert await link.get_attribute("download") == "<b>page.html"
        async with page.expect_download() as downloading:
            await link.evaluate("(link) => (link.removeAttribute('download'), link.click())")
        await downloading.value  # not opened as a page
        await expect(page.get_by_role("img", name="page.svg")).to_have_count(0)


async def test_invisible_characters_are_shown(open_page, url):
    async with open_page(url, "hostile") as page:
        await say(page, "harm me")
        answer = page.locator(".artifact").first
        await expect(answer).to_contain_text("pay U+202EecilaU+202C nowU+200B, U+E0041")


async def test_a_flood_of_text_does_not_block_the_page(open_page, url):
    async with open_page(url, "talker") as page:
        await say(page, "talk")
        await expect(page.locator(".state.good")).to_have_text("done")
        await expect(page.get_by_text("more characters are in the frames")).to_be_visible()
        await say(page, "again")
        await expect(page.locator(".state.good")).to_have_count(2)


async def test_deeply_nested_quotes_are_plain_text(open_page, url):
    async with open_page(url, "copier") as page:
        await say(page, "> - " * 10_000)
        await expect(page.locator(".artifact pre.plain")).to_contain_text("> - > - > -")


async def test_text_of_only_emphasis_is_plain(open_page, url):
    async with open_page(url, "copier") as page:
        await say(page, "*_a" * 15_000)
        await expect(page.locator(".artifact pre.plain")).to_contain_text("*_a*_a")


async def test_an_unrenderable_answer_does_not_affect_others(open_page, url):
    async with open_page(url, "clerk", may_fail=True) as page:
        task = {"id": "1", "contextId": "1", "status": {"state": "TASK_STATE_COMPLETED"}}
        wrong = {"artifacts": [{"artifactId": "1", "parts": [{"raw": "*", "filename": {}}]}]}
        frame = json.dumps({"jsonrpc": "2.0", "id": "1", "result": {"task": {**task, **wrong}}})
        await page.route(
            "**/agents/clerk/",
            lambda route: route.fulfill(
                body=f"data: {frame}\n\n", content_type="text/event-stream"
            ),
        )
        await say(page, "hello")
        await expect(page.get_by_text("This cannot be shown")).to_be_visible()
        await page.unroute_all()
        await say(page, "hello again")
        await expect(page.get_by_text("What is your name?")).to_be_visible()


async def answered(page, *results):
    """Answer all calls to the clerk with the given results."""
    frames = [{"jsonrpc": "2.0", "id": "1", "result": each} for each in results]
    body = "".join(f"data: {json.dumps(each)}\n\n" for each in frames)
    kind = "text/event-stream"
    await page.route("**/agents/clerk/", lambda route: route.fulfill(body=body, content_type=kind))


async def test_an_unknown_state_does_not_break_the_page(open_page, url):
    about = {"contextId": "1", "status": {"state": 99}}
    async with open_page(url, "clerk") as page:
        await answered(page, {"statusUpdate": {"taskId": "1", **about}}, {"task": {"id": "1"}})
        await page.get_by_role("tab", name="Frames").click()
        await say(page, "hello")
        await expect(page.get_by_role("tabpanel")).to_contain_text("status")
        await expect(page.get_by_label("Conversation")).to_contain_text("99")


async def test_large_data_is_truncated(open_page, url):
    data = 0
    for _ in range(5):
        data = [data] * 11
    status = {"state": "TASK_STATE_COMPLETED"}
    artifact = {"artifactId": "1", "parts": [{"data": data}]}
    task = {"id": "1", "contextId": "1", "status": status, "artifacts": [artifact]}
    async with open_page(url, "clerk") as page:
        await answered(page, {"task": task})
        await say(page, "hello")
        await expect(page.locator(".artifact details").first).to_be_visible()
        assert await page.locator(".artifact details").count() < 2_000


async def test_an_agent_that_does_not_stop_is_abandoned(open_page, url):
    async with open_page(url, "endless", may_fail=True) as page:

        async def answer(route):
            if "CancelTask" not in route.request.post_data:
                await route.continue_()

        await page.route("**/agents/endless/", answer)
        await say(page, "count")
        await expect(page.locator(".artifact")).to_contain_text("1 2 3")
        await page.get_by_role("button", name="Stop").click()
        await expect(page.get_by_role("button", name="Send")).to_be_visible()


async def test_a_flood_of_hidden_characters_becomes_few_elements(open_page, url):
    async with open_page(url, "unseen") as page:
        await say(page, "talk")
        await expect(page.locator(".state.good")).to_have_text("done")
        answer = page.locator(".artifact")
        await expect(answer.locator(".hidden-char")).to_have_count(200)
        assert set(await answer.locator("pre.plain").evaluate("(pre) => pre.lastChild.data")) == {
            "\ufffd"
        }
