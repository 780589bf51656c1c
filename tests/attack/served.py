"""The attacked agent: echoes, or asks a question."""

from __future__ import annotations

from a2a_adapters import InputRequired


async def agent(text: str):
    """Echo the text; ask if it starts with a question mark."""
    if text.startswith("?"):
        yield InputRequired("what?", durable=True)
    else:
        yield text
