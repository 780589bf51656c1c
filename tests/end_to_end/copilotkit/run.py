"""Use an agent in a real page of CopilotKit, in Chromium; needs node, npm and Chromium."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.processes import started  # noqa: E402 - found only now

FOLDER = ROOT / ".demo" / "copilotkit"
FILES = ("package.json", "page.html", "page.jsx", "server.mjs")
BUNDLE = [
    *("npx", "esbuild", "page.jsx", "--bundle", "--outfile=page.js", "--jsx=automatic"),
    *(f"--loader:.{kind}=dataurl" for kind in ("woff", "woff2", "ttf")),
    *('--define:process.env.NODE_ENV="production"', "--log-level=error"),
]
SECONDS = 60_000


def main(picture: Path | None) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copy(HERE / name, FOLDER)
    subprocess.run(["npm", "install", "--silent", "--no-audit"], cwd=FOLDER, check=True)
    subprocess.run(BUNDLE, cwd=FOLDER, check=True)
    with (
        started([sys.executable, str(HERE / "agents.py")]) as url,
        node(f"{url.partition('/agents/')[0]}/ag-ui/travel") as address,
        sync_playwright() as playwright,
    ):
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1000, "height": 720})
        context.set_default_timeout(SECONDS)
        expect.set_options(timeout=SECONDS)
        page, other = context.new_page(), context.new_page()
        for each in (page, other):
            each.goto(address)
        approve(page, picture)
        decline(other)
        paint(page)
        show(page)
        refuse(page)
        browser.close()
    print("CopilotKit: OK")


@contextmanager
def node(agent: str):
    """Run the page's server and yield its address."""
    command = ["node", "server.mjs", agent]
    with subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield next(line.strip() for line in process.stdout if line.startswith("http://"))
        finally:
            process.terminate()


def say(page: Page, text: str) -> None:
    page.get_by_role("textbox").fill(text)
    page.keyboard.press("Enter")


def approve(page: Page, picture: Path | None) -> None:
    """Chat, see the state of the agent, and approve what it asks."""
    say(page, "A trip, please.")
    expect(page.locator("#question")).to_contain_text("Shall I book it?")
    expect(page.locator("#state")).to_contain_text('"city": "Rome"')
    if picture is not None:
        page.screenshot(path=picture)
    page.click("#yes")
    expect(page.get_by_text("Booked. Have a good trip")).to_be_visible()
    expect(page.locator("#state")).to_contain_text('"booked": true')


def decline(page: Page) -> None:
    """Decline in another tab, which has a conversation of its own."""
    expect(page.locator("#state")).not_to_contain_text("Rome")
    say(page, "A trip, please.")
    page.click("#no")
    expect(page.get_by_text("nothing is booked")).to_be_visible()
    expect(page.locator("#state")).not_to_contain_text("booked")


def paint(page: Page) -> None:
    """Let the agent use a tool of the page."""
    say(page, "Another colour, please.")
    expect(page.get_by_text("The page says: painted.")).to_be_visible()
    expect(page.locator("body")).to_have_css("background-color", "rgb(200, 255, 200)")


def show(page: Page) -> None:
    """See an interface that the agent has made, and press its button."""
    say(page, "What is the time?")
    expect(page.get_by_text("It is noon in Rome.")).to_be_visible()
    page.get_by_role("button", name="And later?").click()
    expect(page.get_by_text("You pressed later.")).to_be_visible()


def refuse(page: Page) -> None:
    """See why the agent refuses, by the provider's `onError`."""
    say(page, "To the moon, please.")
    expect(page.get_by_role("alert")).to_contain_text("I only plan trips on Earth.")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute() if sys.argv[1:] else None)
