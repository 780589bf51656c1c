"""Agents for a server that tests stop and kill."""

from __future__ import annotations

import asyncio

from a2a_adapters import InputRequired


async def asks(text: str):
    """Ask, and repeat the answer."""
    answer = yield InputRequired("which?", durable=True)
    yield f"heard {answer.text}"


async def says(text: str):
    """Say the words of a text one by one, and never end."""
    for word in text.split():
        yield f"{word} "
    await asyncio.Event().wait()
