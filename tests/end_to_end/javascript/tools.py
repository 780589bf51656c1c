"""Tools for the JavaScript clients of MCP."""

from __future__ import annotations

import asyncio

from a2a_adapters import AgentRequest, InputRequired, Progress, Rejected


def echo(text: str) -> str:
    """Echo the text."""
    return text


async def book(_request: AgentRequest):
    """Book a room."""
    yield Progress("looking for rooms")
    answer = yield InputRequired("which city?")
    yield f"booked {answer.text}"


async def broken(_request: AgentRequest):
    """Fail halfway."""
    yield "half of "
    yield Rejected("the printer is on fire")


async def wait(_request: AgentRequest):
    """Wait for ever."""
    yield Progress("waiting")
    await asyncio.Event().wait()
