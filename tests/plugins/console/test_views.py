"""Views beside the conversation: card, tasks, frames, headers, themes, small screens."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys

import pytest
from a2a_adapters_console import Console
from playwright.async_api import expect

from a2a_adapters import AgentRequest, ApiKeys, BearerTokens, ServerOptions, build_app
from a2a_adapters.testing import running
from tests.plugins.console.agents import clerk
from tests.plugins.console.test_chat import say
from tests.plugins.console.test_relay import type_token

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_view_for_users_shows_a_chat_and_nothing_technical(open_page, url):
    async with open_page(url, "travel") as page:
        await page.goto(f"{url}/console?view=chat")
        await page.get_by_label("Agent", exact=True).select_option("travel")
        await expect(page.get_by_role("heading", name="travel").first).to_be_visible()
        for technical in ("Card", "Tasks", "Frames"):
            await expect(page.get_by_role("tab", name=technical)).to_have_count(0)
        await expect(page.get_by_role("button", name="Headers")).to_have_count(0)
        await say(page, "a trip")
        await expect(page.get_by_role("cell", name="EN 472")).to_be_visible()
        await expect(page.locator(".timeline").first).to_be_hidden()
        for technical in page.get_by_text("Copy JSON"), page.get_by_text("Schema"):
            await expect(technical.first).to_be_hidden()
        await page.reload()
        await expect(page.get_by_role("tab", name="Frames")).to_have_count(0)


async def test_the_page_has_the_title_and_colour_of_its_settings(open_page):
    look = Console(title="Travel desk", colour="#0a5fa5", view="chat")
    app = build_app(clerk, options=ServerOptions(console=True), dialects=[look])
    async with running(app) as url, open_page(url) as page:
        await expect(page.get_by_role("heading", name="Travel desk")).to_be_visible()
        await expect(page).to_have_title(re.compile("Travel desk$"))
        await expect(page.get_by_role("tab", name="Frames")).to_have_count(0)
        await say(page, "hello")
        said = page.locator(".said.user")
        await expect(said).to_have_css("background-color", "rgb(10, 95, 165)")
        await page.goto(f"{url}/console?view=console")
        await expect(page.get_by_role("tab", name="Frames")).to_be_visible()


GUARDED = {
    "Token": BearerTokens({"secret-of-ann": "ann"}),
    "API key": ApiKeys({"secret-of-ann": "ann"}),
}


@pytest.mark.parametrize(("label", "authentication"), GUARDED.items())
async def test_a_user_logs_in_with_what_the_card_asks_for(open_page, label, authentication):
    async def who(request: AgentRequest):
        return f"You are {request.owner}."

    options = ServerOptions(console=True, authentication=authentication)
    async with running(build_app(who, options=options)) as url, open_page(url) as page:
        await page.get_by_role("button", name="Log in").click()
        dialog = page.get_by_role("dialog", name="Log in")
        await dialog.get_by_label(label).fill("secret-of-ann")
        await dialog.get_by_role("button", name="Log in").click()
        await expect(page.get_by_role("button", name="Logged in")).to_be_visible()
        await say(page, "who am I?")
        await expect(page.get_by_text("You are ann.")).to_be_visible()


async def test_the_card_is_shown_and_checked(open_page, url):
    async with open_page(url, "clerk") as page:
        panel = page.get_by_role("tabpanel")
        await expect(panel.get_by_role("heading", name="clerk")).to_be_visible()
        await expect(panel).to_contain_text("Asks for a name.")
        await expect(panel).to_contain_text("JSONRPC 1.0")
        await panel.get_by_role("button", name="Check this agent").click()
        await expect(panel.locator(".finding, .state.good").first).to_be_visible()
        await expect(panel.locator(".finding .bad")).to_have_count(0)


async def test_tasks_are_listed_filtered_opened_and_cancelled(open_page, url):
    async with open_page(url, "clerk") as page:
        for name in ("Ada", ""):
            await say(page, f"hello from {name or 'nobody'}")
            await expect(page.get_by_text("What is your name?")).to_have_count(1)
            if name:
                await say(page, name)
                await expect(page.get_by_text("Hello Ada!")).to_be_visible()
                await page.get_by_role("button", name="New conversation").click()
        await page.get_by_role("tab", name="Tasks").click()
        await page.get_by_label("this conversation").check()
        tasks = page.locator(".task")
        await expect(tasks).to_have_count(1)
        await tasks.get_by_role("button", name="Cancel").click()
        await expect(tasks.locator(".state")).to_have_text("cancelled")
        await page.get_by_label("this conversation").uncheck()
        await page.get_by_label("State").select_option("done")
        await expect(tasks.first.locator(".state")).to_have_text("done")
        await tasks.first.locator(".open").click()
        await expect(page.get_by_text("Hello Ada!")).to_be_visible()


async def test_a_running_task_is_followed_in_another_page(open_page, url):
    async with open_page(url, "endless") as first, open_page(url, "endless") as second:
        await say(first, "count")
        await expect(first.locator(".artifact")).to_contain_text("1 2 3")
        await second.get_by_role("tab", name="Tasks").click()
        await second.get_by_label("State").select_option("working")
        await second.locator(".task .open").first.click()
        await expect(second.locator(".artifact")).to_contain_text("1 2 3")
        await first.get_by_role("button", name="Stop").click()
        await expect(second.locator(".turn .state")).to_have_text("cancelled")


async def copied(page, frame, kind):
    """Return the text copied by a frame's button."""
    await page.evaluate("navigator.clipboard.writeText('')")
    await frame.get_by_role("button", name=f"Copy as {kind}").click()
    return await (await page.wait_for_function("navigator.clipboard.readText()")).json_value()


async def run(*command, **environment):
    """Return the output of a command."""
    done = await asyncio.to_thread(
        subprocess.run,
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout


CLIPBOARD = ["clipboard-read", "clipboard-write"]


async def test_frames_are_kept_and_copied(open_page, url):
    async with open_page(url, "copier", permissions=CLIPBOARD) as page:
        await say(page, "it's me")
        await expect(page.locator(".turn .state.good")).to_be_visible()
        await page.get_by_role("tab", name="Frames").click()
        frames = page.locator(".frame")
        await expect(frames.first).to_contain_text("SendStreamingMessage")
        await expect(frames.last).to_contain_text("TASK_STATE_COMPLETED")
        await frames.first.locator("summary").click()
        assert "it's me" in await run("bash", "-c", await copied(page, frames.first, "curl"))
        assert "it's me" in await run(
            sys.executable, "-c", await copied(page, frames.first, "Python")
        )


async def test_each_call_is_copied_as_working_python(open_page):
    options = ServerOptions(authentication=BearerTokens({"secret-of-ada": "ada"}), console=True)
    async with (
        running(build_app(clerk, options=options)) as url,
        open_page(url, permissions=CLIPBOARD) as page,
    ):
        await type_token(page, "Bearer secret-of-ada")
        await say(page, "hello")
        await expect(page.get_by_text("What is your name?")).to_be_visible()
        await page.get_by_role("tab", name="Tasks").click()
        await page.locator(".task .open").click()
        await expect(page.get_by_text("What is your name?")).to_be_visible()
        await page.get_by_role("tab", name="Tasks").click()
        await page.locator(".task").get_by_role("button", name="Cancel").click()
        await expect(page.locator(".task .state")).to_have_text("cancelled")
        await page.get_by_role("tab", name="Frames").click()
        for method, part in (
            ("SendStreamingMessage", "What is your name?"),
            ("ListTasks", "TASK_STATE_CANCELED"),
            ("GetTask", "TASK_STATE_CANCELED"),
            ("CancelTask", "-32002"),
        ):
            frame = page.locator(".frame").filter(has_text=method).first
            await frame.locator("summary").click()
            for kind, command in (("curl", ["bash", "-c"]), ("Python", [sys.executable, "-c"])):
                script = await copied(page, frame, kind)
                assert "secret-of-ada" not in script
                assert part in await run(*command, script, AUTHORIZATION="Bearer secret-of-ada")


async def test_the_page_scrolls_to_the_end_unless_scrolled_up(open_page, url):
    async with open_page(url, "copier") as page:
        state = page.locator(".turn .state.good")
        await say(page, "a line\n\n" * 60)
        await expect(state).to_be_in_viewport()
        await page.locator(".turns").evaluate("(box) => box.scrollBy(0, -200)")
        said = page.locator(".said.user").first
        before = await said.bounding_box()
        await say(page, "a line\n\n" * 60)
        await expect(state).to_have_count(2)
        after = await said.bounding_box()
        assert abs(after["y"] - before["y"]) < 5


async def test_a_token_is_kept_in_the_page_alone(open_page):
    options = ServerOptions(authentication=BearerTokens({"secret-of-ada": "ada"}), console=True)
    app = build_app(clerk, options=options)
    async with running(app) as url, open_page(url, may_fail=True) as page:
        await say(page, "hello")
        await expect(page.get_by_role("alert")).to_contain_text("bearer token")
        await type_token(page, "Bearer secret-of-ada")
        await say(page, "hello again")
        await expect(page.get_by_text("What is your name?")).to_be_visible()
        state = await page.context.storage_state()
        assert "secret-of-ada" not in json.dumps(state)
        await page.reload()
        await say(page, "hello")
        await expect(page.get_by_role("alert")).to_contain_text("bearer token")


async def test_light_and_dark_follow_the_system_until_switched(open_page, url):
    colour = "getComputedStyle(document.body).backgroundColor"
    async with open_page(url, color_scheme="dark") as page:
        dark = await page.evaluate(colour)
        await page.get_by_role("button", name="Use the light theme").click()
        light = await page.evaluate(colour)
        assert dark != light
        await page.get_by_role("button", name="Use the dark theme").click()
        assert await page.evaluate(colour) == dark


async def test_everything_works_with_the_keyboard(open_page, url):
    async with open_page(url, "endless") as page:
        await expect(page.get_by_label("Message", exact=True)).to_be_focused()
        await page.keyboard.type("one")
        await page.keyboard.press("Shift+Enter")
        await page.keyboard.type("two")
        await page.keyboard.press("Enter")
        await expect(page.locator(".said.user")).to_have_text("one\ntwo")
        await expect(page.locator(".artifact")).to_contain_text("1 2")
        await page.keyboard.press("Escape")
        await expect(page.locator(".turn .state")).to_have_text("cancelled")
        await page.get_by_role("tab", name="Card").focus()
        await page.keyboard.press("ArrowRight")
        await expect(page.get_by_role("tab", name="Tasks")).to_be_focused()
        await expect(page.get_by_role("tabpanel", name="Tasks")).to_be_visible()


async def test_the_end_of_a_task_does_not_move_the_focus(open_page, url):
    async with open_page(url, "endless") as first, open_page(url, "endless") as second:
        await say(first, "count for ever")
        await expect(first.locator(".artifact")).to_contain_text("1 2 3")
        await first.get_by_role("tab", name="Frames").focus()
        await second.get_by_role("tab", name="Tasks").click()
        task = second.locator(".task").filter(has_text="working").first
        await task.get_by_role("button", name="Cancel").click()
        await expect(first.locator(".turn .state")).to_have_text("cancelled")
        await first.evaluate("new Promise((then) => requestAnimationFrame(() => setTimeout(then)))")
        await expect(first.get_by_role("tab", name="Frames")).to_be_focused()


async def test_a_phone_shows_one_panel_at_a_time(open_page, url):
    async with open_page(url, "travel", is_mobile=True, has_touch=True) as page:
        await page.set_viewport_size({"width": 360, "height": 740})
        await say(page, "book it")
        await expect(page.get_by_role("button", name="Answer")).to_be_visible()
        await expect(page.get_by_role("tabpanel")).to_be_hidden()
        for name in ("Card", "Tasks", "Frames", "Chat"):
            await page.get_by_role("tab", name=name).tap()
            wide = "document.documentElement.scrollWidth > innerWidth"
            assert not await page.evaluate(wide), name
        await expect(page.get_by_role("button", name="Answer")).to_be_visible()
