"""An agent whose process tests kill: it asks about two calls and records the one that runs."""

from __future__ import annotations

import sys
from pathlib import Path

from pydantic_ai import Agent, CallDeferred

from a2a_adapters import ServerOptions, serve
from tests.plugins.pydantic_ai.support import Fake, calling, results

STORAGE, WORK = sys.argv[1], Path(sys.argv[2])


def book(city: str) -> str:
    """Record the booking."""
    with (WORK / "booked").open("a") as file:
        file.write(f"{city}\n")
    return f"booked {city}"


def asks(question: str) -> str:
    """Ask the user."""
    raise CallDeferred(kind="question")


def act(messages):
    if done := results(messages):
        return "; ".join(f"{key}: {value}" for key, value in sorted(done.items()))
    return [
        "Let me see.",
        calling("book", call_id="trip", city="Rome"),
        calling("asks", call_id="when", question="When?"),
    ]


if __name__ == "__main__":
    agent = Agent(Fake(act), name="clerk", tools=[asks])
    agent.tool_plain(requires_approval=True)(book)
    serve(agent, port=0, options=ServerOptions(storage=STORAGE))
