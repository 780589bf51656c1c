"""An agent whose calls show what a platform has to allow."""

from __future__ import annotations

import asyncio
from pathlib import Path

from a2a_adapters import AgentRequest, InputRequired


async def answer(request: AgentRequest):
    """Repeat the message; ask, or wait for the writer of a named pipe, if it says so."""
    if request.text == "ask":
        yield f"Hello, {(yield InputRequired('Your name?')).text}!"
    elif request.text.startswith("wait "):
        yield "begun "
        await asyncio.to_thread(Path(request.text.removeprefix("wait ")).read_text)
        yield "done"
    else:
        yield request.text
