"""One of two processes with a shared database. Its agent repeats messages, slowly on request."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from agents import Agent

from a2a_adapters import BearerTokens, Limits, ServerOptions, serve
from tests.plugins.openai_agents.support import Fake, said


async def until_there(file):
    """Wait for a file."""
    while True:
        if file.exists():
            return
        await asyncio.sleep(0.02)


def listener(work):
    async def answer(items):
        texts = said(items)
        if texts[-1] == "slow":
            (work / "begun").touch()
            await until_there(work / "go")
        return " ".join(texts)

    return Agent(name="listener", model=Fake(answer))


if __name__ == "__main__":
    storage, work = sys.argv[1:]
    options = ServerOptions(
        storage=storage,
        limits=Limits(lease_seconds=2, sweep_seconds=0.5),
        authentication=BearerTokens({"ann": "ann"}),
    )
    serve(listener(Path(work)), port=0, options=options)
