"""A LangGraph graph that books a room, with one question and an MCP tool over HTTP.

TRAVEL_TOOLS=http://127.0.0.1:9000/mcp a2a-adapters serve hotel:make_graph
"""

from __future__ import annotations

import json
import os
from typing import TypedDict

from langchain_mcp_adapters.client import MultiServerMCPClient
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

EUROS = 80
SERVER = {"transport": "streamable_http", "url": os.environ.get("TRAVEL_TOOLS", "")}


class Wish(TypedDict):
    """The caller's input."""

    city: str


class Booking(TypedDict):
    """The result for the caller."""

    city: str
    nights: int
    price: float
    currency: str


class State(Wish, Booking):
    """The state of the graph."""


async def make_graph():
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"tools": SERVER}).get_tools()}

    def ask(state: State):
        return {"nights": int(interrupt(f"How many nights in {state['city']}?"))}

    async def book(state: State):
        [found] = await tools["convert"].ainvoke(
            {"euros": EUROS * state["nights"], "currency": "NOK"}
        )
        money = json.loads(found["text"])
        return {"price": money["amount"], "currency": money["currency"]}

    builder = StateGraph(State, input_schema=Wish, output_schema=Booking)
    builder.add_node("ask", ask)
    builder.add_node("book", book)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "book")
    return builder.compile(name="hotel")
