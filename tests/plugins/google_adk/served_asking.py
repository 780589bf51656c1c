"""An agent whose process tests kill: it asks about two calls and records the one that runs."""

from __future__ import annotations

import sys
from pathlib import Path

from google.adk.agents.llm_agent import LlmAgent
from google.adk.tools.function_tool import FunctionTool

from a2a_adapters import ServerOptions, serve
from tests.plugins.google_adk.support import Fake, calling, results

STORAGE, WORK = sys.argv[1], Path(sys.argv[2])


def book(city: str) -> str:
    """Book a trip."""
    with (WORK / "booked").open("a") as file:
        file.write(f"{city}\n")
    return f"{city} booked"


def act(contents):
    if done := results(contents):
        return "; ".join(done[key] for key in sorted(done))
    return ["Let me see.", calling("book", "c1", city="Rome"), calling("book", "c2", city="Oslo")]


if __name__ == "__main__":
    tools = [FunctionTool(book, require_confirmation=True)]
    agent = LlmAgent(name="clerk", model=Fake(act), tools=tools)
    serve(agent, port=0, options=ServerOptions(storage=STORAGE))
