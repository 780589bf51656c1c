"""axe-core, which finds what keeps people from using a page."""

from __future__ import annotations

from axe_playwright_python.async_playwright import Axe

AXE = Axe()


async def violations(page):
    """Return a line for each violation on a page."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE.axe_script)
    results = await page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        f"{each['id']}: {node['html']} {node['failureSummary']}"
        for each in results["violations"]
        for node in each["nodes"]
    ]
