"""An agent whose process tests kill: it asks about two calls and records the one that runs."""

from __future__ import annotations

import sys
from pathlib import Path

from agent_framework import Agent, Workflow, WorkflowBuilder, tool

from a2a_adapters import ServerOptions, serve
from tests.plugins.agent_framework.support import Fake, calling, results

STORAGE, WORK = sys.argv[1], Path(sys.argv[2])


@tool(approval_mode="always_require")
def book(city: str) -> str:
    """Book a trip."""
    with (WORK / "booked").open("a") as file:
        file.write(f"{city}\n")
    return f"{city} booked"


def act(messages):
    if done := results(messages):
        return "; ".join(done[key] for key in sorted(done))
    return ["Let me see.", calling("book", "c1", city="Rome"), calling("book", "c2", city="Oslo")]


def clerk() -> Agent:
    return Agent(client=Fake(act), name="clerk", tools=[book])


def desk() -> Workflow:
    return WorkflowBuilder(start_executor=clerk(), name="desk").build()


if __name__ == "__main__":
    target = {"agent": clerk(), "workflow": desk}[sys.argv[3]]
    serve(target, port=0, options=ServerOptions(storage=STORAGE))
