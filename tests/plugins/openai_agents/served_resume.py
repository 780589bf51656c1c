"""An agent whose process tests kill: says `one`, runs a tool that writes a file, says `two`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from a2a_adapters_openai_agents import adapt
from agents import Agent, function_tool

from a2a_adapters import ServerOptions, serve
from tests.plugins.openai_agents.support import Fake, calling, said

STORAGE, WORK = sys.argv[1], Path(sys.argv[2])


@function_tool
async def step(text: str) -> str:
    """Record the first step."""
    with (WORK / "steps").open("a") as file:
        file.write(f"{text}\n")
    return "done"


async def answer(items):
    if items[-1].get("type") != "function_call_output":
        return ["one", calling("step", text=said(items)[-1])]
    with (WORK / "begun").open("a") as file:
        file.write(f"{said(items)[-1]}\n")
    while True:
        if (WORK / "go").exists():
            return "two"
        await asyncio.sleep(0.02)


if __name__ == "__main__":
    agent = Agent(name="helper", model=Fake(answer), tools=[step])
    serve(adapt(agent, durable=True), port=0, options=ServerOptions(storage=STORAGE))
