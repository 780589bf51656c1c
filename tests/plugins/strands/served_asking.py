"""An agent whose process tests kill: it asks about two calls and records the one that runs."""

from __future__ import annotations

import sys
from pathlib import Path

from strands import Agent, ToolContext, tool
from strands.multiagent import GraphBuilder
from strands.multiagent.graph import Graph

from a2a_adapters import ServerOptions, serve
from tests.plugins.strands.support import Fake, calling, results

STORAGE, WORK = sys.argv[1], Path(sys.argv[2])


@tool(context=True)
def book(city: str, tool_context: ToolContext) -> str:
    """Book a trip."""
    when = tool_context.interrupt("when", f"When to {city}?")
    with (WORK / "booked").open("a") as file:
        file.write(f"{city}\n")
    return f"{city} {when}"


def act(messages):
    if done := results(messages):
        return "; ".join(done[key] for key in sorted(done))
    return ["Let me see.", calling("book", "c1", city="Rome"), calling("book", "c2", city="Oslo")]


def clerk() -> Agent:
    return Agent(model=Fake(act), name="clerk", tools=[book], callback_handler=None)


def desk() -> Graph:
    builder = GraphBuilder()
    builder.add_node(clerk(), "clerk")
    builder.set_max_node_executions(5)
    return builder.build()


if __name__ == "__main__":
    target = {"agent": clerk(), "graph": desk}[sys.argv[3]]
    serve(target, port=0, options=ServerOptions(storage=STORAGE))
