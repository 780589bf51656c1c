"""Functions that answer, stream, ask, and ask durably."""

from __future__ import annotations

import asyncio
import time

from a2a_adapters_functions import adapt

from a2a_adapters import InputRequired
from tests.blackbox.journal import note


def answer(text: str) -> str:
    """Answer."""
    note(text, "answer")
    time.sleep(0.1)
    return f"answer {text}"


async def stream(text: str):
    """Answer in chunks."""
    note(text, "stream")
    for number in range(10):
        yield f"{number} "
        await asyncio.sleep(0.05)
    yield text


async def ask(text: str):
    """Ask twice; questions are lost with the process."""
    note(text, "begin")
    city = yield InputRequired(f"Where to, {text}?")
    note(text, "city")
    await asyncio.sleep(0.1)
    day = yield InputRequired(f"When to {city.text}?")
    note(text, "day")
    await asyncio.sleep(0.1)
    yield f"{text}: {city.text} on {day.text}"


book = adapt(ask, name="book", description="Ask twice, durably.", durable=True)
