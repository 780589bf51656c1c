"""axe-core, which finds what keeps people from using a page."""

from __future__ import annotations

from axe_playwright_python.async_playwright import Axe


async def violations(page):
    """Return a line for each violation on a page."""
    results = await Axe().run(page)
    return [
        f"{each['id']}: {node['html']} {node['failureSummary']}"
        for each in results.response["violations"]
        for node in each["nodes"]
    ]
