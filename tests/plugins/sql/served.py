"""A server that tests kill. It counts its effects in a file."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from a2a_adapters import AgentRequest, OutboundPolicy, PushOptions, ServerOptions, serve

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
