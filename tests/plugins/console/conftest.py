"""A real browser, and pages in it whose errors fail the test."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from playwright.async_api import async_playwright, expect

from a2a_adapters import ServerOptions, build_app
from a2a_adapters.testing import running
from tests.plugins.console.agents import AGENTS
from tests.support.command_line import run, server
from tests.support.programs import needed

__all__ = ["browser", "open_page", "run", "server", "url"]

SECONDS = 60
"""Time limit for elements to appear, generous for slow machines."""

expect.set_options(timeout=SECONDS * 1000)


@asynccontextmanager
async def launched_browser(*names):
    path = needed(names[0], *names)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser():
    """Chromium's shell, if installed, takes half the time, but it shows no PDF."""
    async with launched_browser("chromium-headless-shell", "chromium", "google-chrome") as browser:
        yield browser


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def url():
    """Return the URL of a server with all agents of these tests."""
    async with running(build_app(AGENTS, options=ServerOptions(console=True))) as url:
        yield url


@pytest.fixture
def open_page(browser):
    """Return a function that opens a server's console in a new browser session."""

    @asynccontextmanager
    async def open_page(url, agent="", *, may_fail=False, **options):
        context = await browser.new_context(viewport={"width": 1280, "height": 860}, **options)
        context.set_default_timeout(SECONDS * 1000)
        page = await context.new_page()
        problems = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: said.type == "error" and problems.append(said.text))
        await page.goto(f"{url}/console")
        if agent:
            await page.get_by_label("Agent", exact=True).select_option(agent)
        yield page
        await context.close()
        assert may_fail or not problems

    return open_page
