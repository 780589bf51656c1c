"""What is attacked: an agent that repeats what it is told, or asks back."""

from __future__ import annotations

from a2a_adapters import InputRequired


async def agent(text: str):
    """Repeat the text; ask back where it begins with a question mark."""
    if text.startswith("?"):
        yield InputRequired("what?", durable=True)
    else:
        yield text
