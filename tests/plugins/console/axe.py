"""axe-core, which finds what keeps people from using a page."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from tests.support.programs import needed

VERSION = "4.14.1"
FOLDER = Path(__file__).parents[3] / ".demo" / f"axe-{VERSION}"

FIND = """async () => {
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`));
}"""


@cache
def source():
    """Return axe-core's script; npm installs it once."""
    script = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        install = [needed("npm"), "install", "--silent", "--no-audit", "--prefix", str(FOLDER)]
        subprocess.run([*install, f"axe-core@{VERSION}"], check=True)
    return script.read_text()


async def violations(page):
    """Return a line for each violation on a page."""
    await page.evaluate(source())
    return await page.evaluate(FIND)
