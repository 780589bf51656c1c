"""Use agents in the real Open WebUI, in Chromium: `run.py COMMAND [FOLDER FOR PICTURES]`."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from playwright.sync_api import Page, expect, sync_playwright

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.processes import PATIENCE, started  # noqa: E402 - found only now

SETTINGS = {
    "WEBUI_AUTH": "False",
    "WEBUI_SECRET_KEY": "secret",
    "ENABLE_PERSISTENT_CONFIG": "False",
    "ENABLE_OLLAMA_API": "False",
    "ENABLE_FORWARD_USER_INFO_HEADERS": "True",
    "OPENAI_API_KEY": "none",
    # Nothing is fetched from hubs, and files go to the agent as they are.
    "OFFLINE_MODE": "True",
    "BYPASS_EMBEDDING_AND_RETRIEVAL": "True",
}
PLAN = {"name": "plan.txt", "mimeType": "text/plain", "buffer": b"A plan for Rome"}
SECONDS = 60_000


def main(command: str, pictures: Path | None) -> None:
    with (
        started([sys.executable, str(HERE / "agents.py")]) as url,
        open_webui(command, f"{url.partition('/agents/')[0]}/v1") as address,
        sync_playwright() as playwright,
    ):
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1000, "height": 620})
        context.set_default_timeout(SECONDS)
        expect.set_options(timeout=SECONDS)
        page = context.new_page()
        page.goto(address)
        page.get_by_role("button", name="Okay, Let's Go!").click()  # the news of this version
        answer_a_question(page, pictures)
        regenerate(page)
        read_a_file(page, pictures)
        stop(page)
        browser.close()
    print("Open WebUI: OK")


@contextmanager
def open_webui(command: str, agents: str) -> Iterator[str]:
    """Run Open WebUI with the agents as its models, and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        own = {"DATA_DIR": folder, "OPENAI_API_BASE_URL": agents}
        process = subprocess.Popen(
            [command, "serve", "--host", "127.0.0.1", "--port", port],
            env={**os.environ, **SETTINGS, **own},
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(process, f"{address}/health")
            yield address
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            finally:
                process.kill()
                process.wait()


def wait_for(process: subprocess.Popen[bytes], url: str) -> None:
    """Wait until Open WebUI has started, which takes it a minute."""
    until = time.monotonic() + 3 * PATIENCE
    while process.poll() is None and time.monotonic() < until:
        try:
            if httpx.get(url, timeout=PATIENCE).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.5)
    raise AssertionError("Open WebUI did not start")


def choose(page: Page, agent: str) -> None:
    """Start a chat with an agent."""
    page.get_by_role("link", name="New Chat").click()
    page.get_by_role("button", name="Selected model").click()
    page.get_by_role("option", name=agent).click()
    expect(page.get_by_role("heading", name=agent)).to_be_visible()


def say(page: Page, text: str) -> None:
    page.locator("#chat-input").fill(text)
    page.keyboard.press("Enter")


def picture(page: Page, pictures: Path | None, name: str) -> None:
    if pictures is not None:
        page.mouse.move(500, 550)
        page.screenshot(path=pictures / name)


def answer_a_question(page: Page, pictures: Path | None) -> None:
    choose(page, "travel")
    say(page, "A trip, please.")
    expect(page.get_by_text("Which city?")).to_be_visible()
    say(page, "Rome")
    expect(page.get_by_text("week in Rome: arrive on Monday, leave on Sunday.")).to_be_visible()
    page.get_by_role("button", name="Thought").first.click()
    expect(page.get_by_text("Looking at the map")).to_be_visible()
    picture(page, pictures, "open-webui.png")


def regenerate(page: Page) -> None:
    """Ask for the last answer again: the agent gets the history in a new conversation."""
    page.get_by_role("button", name="Regenerate").last.click()
    again = page.get_by_role("menuitem", name="Try Again").or_(page.get_by_text("Try Again"))
    again.first.click()
    expect(page.get_by_text("2/2")).to_be_visible()
    expect(page.get_by_text("Which city?")).to_have_count(2)


def read_a_file(page: Page, pictures: Path | None) -> None:
    """See why the agent refuses, and send it what it wants."""
    choose(page, "reader")
    say(page, "Read it.")
    expect(page.get_by_role("log").get_by_text("I only read plans. Attach one.")).to_be_visible()
    picture(page, pictures, "open-webui-refusal.png")
    page.locator("input[type=file]").first.set_input_files(PLAN)
    expect(page.get_by_text("plan.txt")).to_be_visible()
    say(page, "Read this.")
    expect(page.get_by_text("The plan is for Rome.")).to_be_visible()


def stop(page: Page) -> None:
    """Stop an answer: the agent's task is cancelled."""
    choose(page, "counter")
    say(page, "Count.")
    expect(page.get_by_text("1 2 3 4")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    say(page, "Has somebody stopped you?")
    expect(page.get_by_text("Somebody stopped me.")).to_be_visible()


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).absolute()), Path(sys.argv[2]) if sys.argv[2:] else None)
