"""Three agents for Open WebUI: `docker compose up` in this folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime

from a2a_adapters import AgentEvent, AgentRequest, InputRequired, Progress


async def travel(request: AgentRequest) -> AsyncGenerator[AgentEvent, AgentRequest]:
    """Plan trips, and ask where to."""
    yield Progress(f"Planning: {request.text}")
    city = (yield InputRequired("Which city?")).text
    yield Progress(f"Looking up {city}")
    for word in f"A week in {city}: arrive on Monday, leave on Sunday.".split(" "):
        yield f"{word} "
        await asyncio.sleep(0.05)


def clock(_text: str) -> str:
    """Tell the time."""
    return f"It is {datetime.now(UTC):%H:%M} in UTC."


def echo(text: str) -> str:
    """Repeat the message."""
    return text
