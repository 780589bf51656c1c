"""Conversations after a reload, in another tab, and from a copied address."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from a2a_adapters import ServerOptions, build_app
from a2a_adapters.security import BearerTokens
from a2a_adapters.testing import running
from tests.plugins.console.agents import clerk
from tests.plugins.console.test_chat import say
from tests.plugins.console.test_command import console
from tests.plugins.console.test_hostile import answered
from tests.plugins.console.test_relay import type_token
from tests.support.processes import launched
from tests.support.warm import warm

pytestmark = [pytest.mark.thorough, pytest.mark.asyncio(loop_scope="session")]


async def test_a_reload_keeps_agent_conversation_and_draft(open_page, url):
    async with open_page(url, "clerk") as page:
        for name in ("Ada", "Bea"):
            await say(page, f"hello from {name}")
            await expect(page.get_by_placeholder("Your answer")).to_be_visible()
            await say(page, name)
            await expect(page.get_by_text(f"Hello {name}!")).to_be_visible()
        await page.get_by_label("Message", exact=True).fill("not sent yet")
        await page.wait_for_url(re.compile("#agent=clerk&conversation="))
        await page.reload()
        await expect(page.get_by_label("Agent", exact=True)).to_have_value("1")
        await expect(page.locator(".turn")).to_have_count(2)
        await expect(page.locator(".turn").first).to_contain_text("Hello Ada!")
        await expect(page.locator(".turn").last).to_contain_text("Hello Bea!")
        await expect(page.get_by_label("Message", exact=True)).to_have_value("not sent yet")


async def test_durations_survive_a_reload(open_page, url):
    async with open_page(url, "copier") as page:
        await say(page, "hello")
        took = page.locator(".took")
        await expect(took).to_have_text(re.compile(r"^[\d.]+ m?s$"))
        before = await took.inner_text()
        await page.reload()
        await expect(took).to_have_text(before)


async def test_a_question_is_answered_after_a_reload(open_page, url):
    async with open_page(url, "clerk") as page:
        await say(page, "hello")
        await expect(page.get_by_text("What is your name?")).to_be_visible()
        await page.reload()
        await expect(page.get_by_placeholder("Your answer")).to_be_visible()
        await say(page, "Ada")
        await expect(page.get_by_text("Hello Ada!")).to_be_visible()
        await expect(page.get_by_text("What is your name?")).to_have_count(1)


async def test_a_running_task_goes_on_after_a_reload_and_in_a_new_tab(open_page, url):
    async with open_page(url, "endless") as page:
        await say(page, "count")
        await page.wait_for_url(re.compile("&task="))
        await page.reload()
        await expect(page.locator(".said.user")).to_have_text("count")
        await expect(page.locator(".artifact")).to_contain_text("1 2 3")
        tab = await page.context.new_page()
        await tab.goto(page.url)
        await expect(tab.locator(".artifact")).to_contain_text("1 2 3")
        await tab.get_by_role("button", name="Stop").click()
        await expect(page.locator(".turn .state")).to_have_text("cancelled")
        await expect(page).to_have_url(re.compile("conversation=[^&]+$"))


async def test_tabs_keep_conversations_of_their_own(open_page, url):
    async with open_page(url, "clerk") as first:
        second = await first.context.new_page()
        await second.goto(f"{url}/console#agent=clerk")
        for page, name in ((first, "Ada"), (second, "Bea")):
            await say(page, f"hello from {name}")
            await expect(page.get_by_text("What is your name?")).to_be_visible()
        for page, own, other in ((first, "Ada", "Bea"), (second, "Bea", "Ada")):
            await page.reload()
            await expect(page.locator(".said.user")).to_have_text(f"hello from {own}")
            await expect(page.locator(".turns").get_by_text(other)).to_have_count(0)


async def test_a_conversation_of_an_agent_without_lists_is_read_task_by_task(open_page, url):
    async with open_page(url, "clerk") as page:
        await page.route("**/*", without_lists)
        await say(page, "hello")
        await expect(page.get_by_text("What is your name?")).to_be_visible()
        await page.reload()
        await expect(page.get_by_placeholder("Your answer")).to_be_visible()
        await expect(page.locator(".said.user")).to_have_text("hello")


async def without_lists(route):
    if "ListTasks" not in (route.request.post_data or ""):
        return await route.continue_()
    error = {"code": -32601, "message": "Method not found"}
    return await route.fulfill(json={"jsonrpc": "2.0", "id": 1, "error": error})


async def test_messages_without_a_task_are_kept_for_the_tab(open_page, url):
    async with open_page(url, "clerk") as page:
        message = {"messageId": "1", "contextId": "of a message", "role": "ROLE_AGENT"}
        await answered(page, {"message": message | {"parts": [{"text": "Good day!"}]}})
        await say(page, "hello")
        await expect(page.get_by_text("Good day!")).to_be_visible()
        await expect(page).to_have_title("hello · clerk · A2A console")
        await page.unroute_all()
        await page.reload()
        await expect(page.get_by_text("Good day!")).to_be_visible()
        await expect(page.locator(".said.user")).to_have_text("hello")


async def test_a_conversation_is_read_once_the_token_is_typed(open_page):
    options = ServerOptions(authentication=BearerTokens({"secret-of-ada": "ada"}), console=True)
    async with (
        running(build_app(clerk, options=options)) as url,
        open_page(url, may_fail=True) as page,
    ):
        await type_token(page, "Bearer secret-of-ada")
        await say(page, "hello")
        await expect(page.get_by_text("What is your name?")).to_be_visible()
        await page.reload()
        await expect(page.get_by_role("alert").first).to_contain_text("bearer token")
        await type_token(page, "Bearer secret-of-ada")
        await expect(page.get_by_placeholder("Your answer")).to_be_visible()
        await expect(page.get_by_role("alert")).to_have_count(0)


async def test_an_unknown_conversation_is_reported(open_page, url):
    async with open_page(url) as page:
        await page.goto(f"{url}/console/#agent=clerk&conversation=gone")
        alert = page.get_by_role("alert")
        await expect(alert).to_contain_text("does not have this conversation any more")
        await say(page, "hello")
        await expect(page.get_by_text("What is your name?")).to_be_visible()
        await expect(alert).to_have_count(0)


async def test_a_restarted_server_is_reconnected(open_page, tmp_path):
    def command(port):
        return warm("-m", "tests.plugins.console.agents", f"sqlite:///{tmp_path}/tasks.db", port)

    with launched(command("0")) as (process, url):
        async with open_page(url, may_fail=True) as page:
            await say(page, "count")
            await expect(page.locator(".artifact")).to_contain_text("1 2 3")
            process.kill()
            process.wait()
            await expect(page.get_by_role("status")).to_contain_text("Trying again")
            with launched(command(url.rpartition(":")[2])):
                # The run died with its process, as reported by the restarted server.
                await expect(page.locator(".turn .state.bad")).to_have_text("failed")
                await expect(page.get_by_role("status")).to_have_count(0)
                await expect(page.get_by_role("button", name="Send")).to_be_visible()


async def test_the_command_line_shows_any_agent(open_page, url):
    async with console(f"{url}/agents/clerk") as address, open_page(address) as page:
        await say(page, "hello")
        await expect(page.get_by_text("What is your name?")).to_be_visible()
