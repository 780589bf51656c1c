"""Servers in separate processes: restarts, and the command line."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.plugins.console.test_chat import say
from tests.plugins.console.test_command import console
from tests.support.processes import launched
from tests.support.warm import warm

pytestmark = [pytest.mark.thorough, pytest.mark.asyncio(loop_scope="session")]


async def test_a_restarted_server_is_reconnected(open_page, tmp_path):
    def command(port):
        return warm("-m", "tests.plugins.console.served", f"sqlite:///{tmp_path}/tasks.db", port)

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
