"""Three agents for the models menu of Open WebUI."""

from __future__ import annotations

import asyncio
from itertools import count

from a2a_adapters import InputRequired, Progress, Rejected, serve

STOPPED = asyncio.Event()


async def travel(request):
    """Plan trips, and ask where to."""
    yield Progress("Looking at the map")
    city = (yield InputRequired("Which city?")).text
    for word in f"A **week** in {city}: arrive on Monday, leave on Sunday.".split():
        yield f"{word} "
        await asyncio.sleep(0.02)


async def counter(request):
    """Count until somebody says stop, and tell whether somebody did."""
    if "stopped" in request.text:
        async with asyncio.timeout(10):
            await STOPPED.wait()
        yield "Somebody stopped me."
        return
    try:
        for number in count(1):
            yield f"{number} "
            await asyncio.sleep(0.05)
    finally:
        STOPPED.set()


async def reader(request):
    """Read files, and refuse to work without."""
    if "A plan for Rome" not in request.text:
        yield Rejected("I only read plans. Attach one.")
        return
    yield "The plan is for Rome."


if __name__ == "__main__":
    serve({"travel": travel, "counter": counter, "reader": reader}, port=0, dialects=["openai"])
