"""Agents for servers that tests stop and kill.

`python -m tests.plugins.sql.served STORAGE EFFECTS` counts its effects in a file.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from a2a_adapters import (
    AgentRequest,
    InputRequired,
    OutboundPolicy,
    PushOptions,
    ServerOptions,
    serve,
)


async def asks(text: str):
    """Ask, and repeat the answer."""
    answer = yield InputRequired("which?", durable=True)
    yield f"heard {answer.text}"


async def says(text: str):
    """Say the words of a text one by one, and never end."""
    for word in text.split():
        yield f"{word} "
    await asyncio.Event().wait()


if __name__ == "__main__":
    storage, effects = sys.argv[1:]

    def note(text: str) -> None:
        with Path(effects).open("a") as file:
            file.write(f"{text}\n")

    async def work(request: AgentRequest):
        """Do something once."""
        note(request.text)
        await asyncio.sleep(0.02 if request.text != "forever" else 3600)
        yield f"did {request.text}"

    push = PushOptions(outbound=OutboundPolicy(allow_private=True))
    serve(work, port=0, options=ServerOptions(storage=storage, push=push))
