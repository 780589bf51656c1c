"""A graph for LangGraph's server."""

from __future__ import annotations

from langgraph.graph import START, MessagesState, StateGraph


def say(_state: MessagesState) -> dict:
    return {"messages": [("ai", "one two three")]}


graph = StateGraph(MessagesState).add_node("say", say).add_edge(START, "say").compile()
