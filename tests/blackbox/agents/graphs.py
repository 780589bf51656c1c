"""LangGraph graphs whose nodes record their runs."""

from __future__ import annotations

import asyncio
import operator
import os
import time
from contextlib import asynccontextmanager
from typing import Annotated

from langchain_core.messages import AIMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send, interrupt

from tests.blackbox.journal import note

CHECKPOINTS = "BLACKBOX_CHECKPOINTS"
"""Environment variable with the file or URL of a graph's own checkpoints."""
NODE_SECONDS = 0.15


class State(MessagesState):
    """The conversation and the steps that ran."""

    steps: Annotated[list[str], operator.add]


def key_of(state: State) -> str:
    """Return the task's key."""
    return str(state["messages"][0].content)


def plan(state: State):
    note(key_of(state), "plan")
    time.sleep(NODE_SECONDS)
    return {"steps": ["plan"]}


async def write(state: State):
    note(key_of(state), "write")
    await asyncio.sleep(NODE_SECONDS)
    return {"steps": ["write"]}


async def check(state: State):
    note(key_of(state), "check")
    await asyncio.sleep(NODE_SECONDS)
    return {"messages": [AIMessage(" ".join([*state["steps"], "check", key_of(state)]))]}


def confirm(state: State):
    reply = interrupt(f"Publish {key_of(state)}?")
    note(key_of(state), "confirm")
    return {"steps": [f"confirmed:{reply}"]}


async def part(state: dict[str, str]):
    note(state["key"], f"part {state['number']}")
    await asyncio.sleep(NODE_SECONDS)
    return {"steps": [f"part{state['number']}"]}


def split(state: State) -> list[Send]:
    return [Send("part", {"key": key_of(state), "number": str(n)}) for n in range(3)]


def _chain(*nodes) -> StateGraph[State]:
    builder = StateGraph(State)
    for before, node in zip([START, *(node.__name__ for node in nodes)], nodes, strict=False):
        builder.add_node(node.__name__, node)
        builder.add_edge(before, node.__name__)
    return builder


def _fan() -> StateGraph[State]:
    builder = _chain(plan)
    builder.add_node("part", part)
    builder.add_node("check", check)
    builder.add_conditional_edges("plan", split, ["part"])
    builder.add_edge("part", "check")
    return builder


graph = _chain(plan, write, check).compile(name="graph")
review = _chain(plan, confirm, check).compile(name="review")
fan = _fan().compile(name="fan")


@asynccontextmanager
async def kept():
    """A graph with its own checkpointer."""
    place = os.environ[CHECKPOINTS]
    saver = AsyncPostgresSaver if place.startswith("postgresql:") else AsyncSqliteSaver
    async with saver.from_conn_string(place) as checkpointer:
        await checkpointer.setup()
        yield _chain(plan, write, check).compile(checkpointer, name="kept")
